//! A configuration as a tree whose values remember where they were written.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// One value of a configuration and its origin.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Scalar(Scalar),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

/// A scalar as it was written and as YAML understands it.
///
/// Both are kept because only the settings type decides between them: a role named `0123` is text, a port is not.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// YAML's interpretation of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text,
}

/// Where a value was written.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    File { file: Arc<Path>, line: u64, column: u64 },
    Variable(String),
    Nowhere,
}

// === impl Tree ===

impl Tree {
    pub(crate) fn map(origin: Origin) -> Self {
        Self { value: Value::Map(BTreeMap::new()), origin }
    }

    pub(crate) fn text(text: impl Into<String>, origin: Origin) -> Self {
        Self { value: Value::Scalar(Scalar { text: text.into(), kind: Kind::Text }), origin }
    }

    /// Lays `over` on top: maps are joined, everything else is replaced, also by `false`, zero and null.
    pub(crate) fn merge(&mut self, over: Tree) {
        match (&mut self.value, over.value) {
            (Value::Map(below), Value::Map(above)) => {
                for (key, tree) in above {
                    insert(below, key, tree);
                }
            }
            (value, above) => {
                *value = above;
                self.origin = over.origin;
            }
        }
    }

    /// Follows a path of map keys.
    pub(crate) fn get<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Tree> {
        let mut tree = self;
        for segment in path {
            let Value::Map(entries) = &tree.value else {
                return None;
            };
            tree = entries.get(segment)?;
        }
        Some(tree)
    }

    /// Puts a value at a path of map keys, making the maps on the way.
    pub(crate) fn set(&mut self, path: &[String], value: Tree) {
        let wrapped = path.iter().rev().fold(value, |inner, segment| {
            let mut outer = Tree::map(inner.origin.clone());
            outer.value = Value::Map(BTreeMap::from([(segment.clone(), inner)]));
            outer
        });
        self.merge(wrapped);
    }
}

/// Puts a value into a map, merged with an existing one.
pub(crate) fn insert(entries: &mut BTreeMap<String, Tree>, key: String, tree: Tree) {
    match entries.entry(key) {
        Entry::Vacant(place) => {
            place.insert(tree);
        }
        Entry::Occupied(mut place) => place.get_mut().merge(tree),
    }
}

// === impl Value ===

impl Value {
    /// Returns the kind of value in words for operators.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

// === impl Origin ===

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Nowhere => f.write_str("built-in defaults"),
        }
    }
}
