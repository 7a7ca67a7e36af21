//! Keys of a settings type.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

/// A settings type that lists its keys.
///
/// The keys are read off a serialised example, so they cannot drift from the fields. Paths are written as users
/// write them, lists as `[]`: `kubernetes.accounts[].name`.
pub trait Schema: Serialize + DeserializeOwned {
    /// Gives a value in which no key is missing: one element in each list, something in each option.
    fn example() -> Self;

    /// Lists the paths below which users choose the keys; there nothing is renamed and nothing is unknown.
    fn free_form() -> &'static [&'static str] {
        &[]
    }

    /// Lists further spellings: the path as some users write it and the name of the key they mean beside it.
    ///
    /// For example `("clouddriver.tls.clientKeyPassword", "clientKeyFilePassword")`. Case and dashes need no
    /// entry.
    fn aliases() -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Lists the paths, such as `kubernetes.accounts[]`, below which a reference that cannot be resolved costs only the
    /// element that it is in: [`Loaded::problems`](super::Loaded) has it, and its owner must not use the element. Any other
    /// is an error of the whole configuration, since a default would take its place.
    fn contained() -> &'static [&'static str] {
        &[]
    }

    /// Lists the options and parts of the tree that decide about security. An unknown key below one of them, or one that is
    /// most likely a misspelling of one, is an error: the default that would take its place is weaker.
    fn strict() -> &'static [&'static str] {
        &[]
    }

    /// Returns a warning for each option that has less effect than its value promises; `is_set` tells the options that are
    /// configured from those that have their default.
    fn limited_options(&self, _is_set: &dyn Fn(&str) -> bool) -> Vec<String> {
        Vec::new()
    }

    /// Lists options of other programs that have no effect here; setting one logs the reason.
    fn unused() -> &'static [Unused] {
        &[]
    }
}

/// An option that is understood and has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unused {
    /// The option, or the part of the tree, such as `kubernetes.accounts[].metrics` or `hub`.
    pub path: &'static str,
    /// The end of the sentence "it has no effect: …".
    pub because: &'static str,
}

// === impl Unused ===

impl Unused {
    /// Whether a key is this option, or lies below it.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let (ours, theirs) = (relaxed(self.path), relaxed(path));
        theirs.strip_prefix(&ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The known keys as a tree.
#[derive(Debug)]
pub(crate) enum Keys {
    /// A single value.
    Leaf,
    /// Anything at all.
    Free,
    List(Box<Keys>),
    Map(BTreeMap<String, Keys>),
}

// === impl Keys ===

impl Keys {
    pub(crate) fn of<T: Schema>() -> Result<Self, serde_json::Error> {
        Ok(Self::from_example(serde_json::to_value(T::example())?, T::free_form(), ""))
    }

    fn from_example(example: serde_json::Value, free_form: &[&str], path: &str) -> Self {
        if free_form.iter().any(|free| same_path(free, path)) {
            return Self::Free;
        }
        match example {
            serde_json::Value::Array(items) => {
                let item = items.into_iter().next().unwrap_or_default();
                Self::List(Box::new(Self::from_example(item, free_form, &format!("{path}[]"))))
            }
            serde_json::Value::Object(fields) if fields.is_empty() => Self::Free,
            serde_json::Value::Object(fields) => Self::Map(
                fields
                    .into_iter()
                    .map(|(name, value)| {
                        let keys = Self::from_example(value, free_form, &join(path, &name));
                        (name, keys)
                    })
                    .collect(),
            ),
            _ => Self::Leaf,
        }
    }

    /// Finds a key however it is spelled.
    pub(crate) fn find<'k>(fields: &'k BTreeMap<String, Keys>, name: &str) -> Option<(&'k str, &'k Keys)> {
        if let Some((known, keys)) = fields.get_key_value(name) {
            return Some((known, keys));
        }
        let wanted = relaxed(name);
        let (known, keys) = fields.iter().find(|(known, _)| relaxed(known) == wanted)?;
        Some((known, keys))
    }

    /// Spells a dotted path as the settings type does.
    pub(crate) fn canonical_path(&self, path: &str) -> Option<Vec<String>> {
        let mut keys = self;
        let mut canonical = Vec::new();
        for segment in path.split('.') {
            let Self::Map(fields) = keys else { return None };
            let (known, below) = Self::find(fields, segment)?;
            canonical.push(known.to_owned());
            keys = below;
        }
        Some(canonical)
    }

    /// Calls `visit` with the path of each single value and of each list of single values.
    pub(crate) fn for_each_leaf(&self, visit: &mut impl FnMut(&[String])) {
        self.walk(&mut Vec::new(), visit);
    }

    fn walk(&self, path: &mut Vec<String>, visit: &mut impl FnMut(&[String])) {
        match self {
            Self::Leaf => visit(path),
            Self::List(item) if matches!(**item, Self::Leaf) => visit(path),
            Self::Map(fields) => {
                for (name, keys) in fields {
                    path.push(name.clone());
                    keys.walk(path, visit);
                    path.pop();
                }
            }
            Self::List(_) | Self::Free => {}
        }
    }
}

/// Reduces a key to the form that relaxed binding compares: no case, no dashes, no underscores.
pub(crate) fn relaxed(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Whether a path is one of these, or lies below one.
pub(crate) fn is_within(path: &str, parts: &[&str]) -> bool {
    let path = relaxed(path);
    parts.iter().any(|part| {
        path.strip_prefix(&relaxed(part)).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Compares two whole paths as relaxed binding does.
pub(crate) fn same_path(left: &str, right: &str) -> bool {
    relaxed(left) == relaxed(right)
}

/// Appends a key to a path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
