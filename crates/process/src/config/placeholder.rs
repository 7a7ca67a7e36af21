//! `${…}` in values: another key, an environment variable or a default.

use super::env::Env;
use super::error::ConfigError;
use super::schema::{Keys, join};
use super::tree::{Kind, Scalar, Tree, Value};

/// Values that placeholders may refer to.
pub(crate) struct Placeholders<'c> {
    keys: &'c Keys,
    /// The configuration in canonical spelling.
    known: Tree,
    /// The configuration as written: users define keys of their own just to refer to them.
    written: &'c Tree,
    env: &'c Env,
    warnings: Vec<String>,
}

/// Puts values in place of all placeholders; gives a warning for each one that refers to nothing.
pub(crate) fn resolve(
    tree: &mut Tree,
    keys: &Keys,
    written: &Tree,
    env: &Env,
) -> Result<Vec<String>, ConfigError> {
    let mut placeholders = Placeholders { keys, known: tree.clone(), written, env, warnings: Vec::new() };
    placeholders.tree(tree, "")?;
    Ok(placeholders.warnings)
}

// === impl Placeholders ===

impl Placeholders<'_> {
    fn tree(&mut self, tree: &mut Tree, path: &str) -> Result<(), ConfigError> {
        match &mut tree.value {
            Value::Scalar(scalar) if scalar.text.contains("${") => {
                let text = self.text(&scalar.text, &mut vec![path.to_owned()])?;
                *scalar = Scalar { text, kind: Kind::Text };
            }
            Value::Null | Value::Scalar(_) => {}
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.tree(item, &format!("{path}[{index}]"))?;
                }
            }
            Value::Map(entries) => {
                for (key, tree) in entries {
                    self.tree(tree, &join(path, key))?;
                }
            }
        }
        Ok(())
    }

    /// Resolves one text; `chain` holds the keys whose text is being resolved, outermost first.
    fn text(&mut self, text: &str, chain: &mut Vec<String>) -> Result<String, ConfigError> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, opened)) = rest.split_once("${") {
            resolved.push_str(before);
            let Some((inside, after)) = split_at_close(opened) else {
                // Not a placeholder after all: a password or a pattern may hold these two letters.
                resolved.push_str("${");
                rest = opened;
                continue;
            };
            resolved.push_str(&self.placeholder(inside, chain)?);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved)
    }

    fn placeholder(&mut self, inside: &str, chain: &mut Vec<String>) -> Result<String, ConfigError> {
        let (name, default) = match inside.split_once(':') {
            Some((name, default)) => (name.trim(), Some(default)),
            None => (inside.trim(), None),
        };
        if let Some((key, text)) = self.key(name) {
            if chain.contains(&key) {
                chain.push(key.clone());
                return Err(ConfigError::Cycle { key, chain: chain.join(" -> ") });
            }
            chain.push(key);
            let resolved = self.text(&text, chain)?;
            chain.pop();
            return Ok(resolved);
        }
        if let Some(value) = self.env.get(name) {
            return Ok(value.to_owned());
        }
        if let Some(default) = default {
            return self.text(default, chain);
        }
        let key = chain.last().map_or("", String::as_str);
        self.warnings
            .push(format!("`{key}`: `${{{name}}}` names no key and no environment variable; left as it is"));
        Ok(format!("${{{inside}}}"))
    }

    /// Gives the spelling and the text of another key.
    fn key(&self, name: &str) -> Option<(String, String)> {
        let canonical = self.keys.canonical_path(name);
        let found = match &canonical {
            Some(path) => self.known.get(path.iter().map(String::as_str)),
            None => self.written.get(name.split('.')).or_else(|| self.written.get([name])),
        };
        let Value::Scalar(scalar) = &found?.value else {
            return None;
        };
        Some((canonical.map_or_else(|| name.to_owned(), |path| path.join(".")), scalar.text.clone()))
    }
}

/// Splits at the brace that closes an already opened placeholder.
fn split_at_close(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '{' if previous == '$' => depth += 1,
            '}' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '}' => depth -= 1,
            _ => {}
        }
        previous = letter;
    }
    None
}
