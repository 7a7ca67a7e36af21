//! Spells the keys of a tree as the settings type does, and sets unknown keys aside.

use std::collections::BTreeMap;

use super::error::ConfigError;
use super::schema::{Keys, Schema, Unused, is_within, join, relaxed, same_path};
use super::tree::{Tree, Value, insert};

/// Renames keys and remembers the unknown ones.
pub(crate) struct Canonical {
    aliases: &'static [(&'static str, &'static str)],
    options: &'static [Unused],
    /// Parts of the tree in which an unknown key is an error.
    strict: &'static [&'static str],
    /// Options without effect that were set to something, in the order they were met.
    unused: Vec<Unused>,
    /// Unknown paths in the order they were met, each with the nearest known key.
    unknown: Vec<(String, Option<String>)>,
}

// === impl Canonical ===

impl Canonical {
    pub(crate) fn of<T: Schema>() -> Self {
        let (aliases, options, strict) = (T::aliases(), T::unused(), T::strict());
        Self { aliases, options, strict, unused: Vec::new(), unknown: Vec::new() }
    }

    /// Gives the tree with known spellings only.
    pub(crate) fn apply(&mut self, tree: Tree, keys: &Keys) -> Tree {
        self.tree(tree, keys, "")
    }

    /// Returns a warning for each unknown key, and for each without effect, once. An unknown key in a strict part is an
    /// error.
    pub(crate) fn into_warnings(self) -> Result<Vec<String>, ConfigError> {
        let is_strict = |path: &str| is_within(path, self.strict);
        let refused = self
            .unknown
            .iter()
            .find(|(path, nearest)| is_strict(path) || nearest.as_deref().is_some_and(is_strict));
        if let Some((key, nearest)) = refused {
            return Err(ConfigError::UnknownKey { key: key.clone(), nearest: nearest.clone() });
        }
        let unused =
            self.unused.iter().map(|Unused { path, because }| format!("`{path}` has no effect: {because}"));
        let unknown = self.unknown.iter().map(|(path, nearest)| match nearest {
            Some(nearest) => format!("unknown key `{path}`: did you mean `{nearest}`?"),
            None => format!("unknown key `{path}` is ignored"),
        });
        Ok(unused.chain(unknown).collect())
    }

    fn tree(&mut self, tree: Tree, keys: &Keys, path: &str) -> Tree {
        let Tree { value, origin } = tree;
        let value = match (value, keys) {
            (Value::Map(entries), Keys::Map(fields)) => {
                let mut known = BTreeMap::new();
                for (key, tree) in entries {
                    self.entry(&mut known, fields, path, (key, tree));
                }
                Value::Map(known)
            }
            (Value::List(items), Keys::List(item)) => {
                let path = format!("{path}[]");
                Value::List(items.into_iter().map(|tree| self.tree(tree, item, &path)).collect())
            }
            (value, _) => value,
        };
        Tree { value, origin }
    }

    fn entry(
        &mut self,
        known: &mut BTreeMap<String, Tree>,
        fields: &BTreeMap<String, Keys>,
        path: &str,
        (key, tree): (String, Tree),
    ) {
        let here = join(path, &key);
        let meant = self.aliases.iter().find(|(alias, _)| same_path(alias, &here)).map(|(_, name)| *name);
        if let Some((name, keys)) = Keys::find(fields, meant.unwrap_or(&key)) {
            let tree = self.tree(tree, keys, &join(path, name));
            insert(known, name.to_owned(), tree);
        } else if let Some(option) = self.options.iter().find(|option| option.covers(&here)) {
            if !is_off(&tree) && !self.unused.contains(option) {
                self.unused.push(*option);
            }
        } else if let Some((head, rest)) = key.split_once('.') {
            let mut below = Tree::map(tree.origin.clone());
            below.value = Value::Map(BTreeMap::from([(rest.to_owned(), tree)]));
            self.entry(known, fields, path, (head.to_owned(), below));
        } else {
            self.unknown(here, nearest(fields, &key).map(|name| join(path, name)));
        }
    }

    fn unknown(&mut self, path: String, nearest: Option<String>) {
        // Spinnaker's own switches (profiles, imports) are not settings of ours, but they are not mistakes.
        let spring = relaxed(&path) == "spring";
        if !spring && !self.unknown.iter().any(|(known, _)| *known == path) {
            self.unknown.push((path, nearest));
        }
    }
}

/// Whether a value is the default of an option without effect, which needs no warning.
fn is_off(tree: &Tree) -> bool {
    match &tree.value {
        Value::Null => true,
        Value::Scalar(scalar) => matches!(scalar.text.trim(), "" | "false" | "0"),
        Value::List(items) => items.iter().all(is_off),
        Value::Map(entries) => entries.values().all(is_off),
    }
}

/// Finds the known key that the user most likely meant, if any is close.
fn nearest<'k>(fields: &'k BTreeMap<String, Keys>, key: &str) -> Option<&'k str> {
    let relaxed_keys: Vec<_> = fields.keys().map(|name| (relaxed(name), name.as_str())).collect();
    let close = crate::nearest(relaxed_keys.iter().map(|(relaxed, _)| relaxed.as_str()), &relaxed(key))?;
    relaxed_keys.iter().find(|(relaxed, _)| relaxed == close).map(|(_, name)| *name)
}
