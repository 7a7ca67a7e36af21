//! YAML text to tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::error::ConfigError;
use super::tree::{Origin, Scalar, Tree, Value};

mod plain;

use plain::Plain;

/// A node as the YAML parser gives it, with its place in the text.
struct Node(Spanned<Plain>);

/// The file being parsed.
struct Source<'s> {
    file: Arc<Path>,
    text: &'s str,
}

/// Parses the text of one file; an empty file is an empty map.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Tree, ConfigError> {
    let source = Source { file: file.into(), text };
    // A snippet of the file in the error could show a secret in the log.
    let options = serde_saphyr::options! { with_snippet: false };
    let node: Option<Node> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| source.syntax(&error))?;
    let tree = match node {
        Some(node) => node.into_tree(&source),
        None => Tree { value: Value::Null, origin: Origin::Nowhere },
    };
    match tree.value {
        Value::Null => Ok(Tree::map(tree.origin)),
        Value::Map(_) => Ok(tree),
        other => {
            let message = format!("expected a map of settings, found {}", other.describe());
            Err(ConfigError::Syntax { file: file.into(), line: 1, column: 1, message })
        }
    }
}

// === impl Source ===

impl Source<'_> {
    fn syntax(&self, error: &serde_saphyr::Error) -> ConfigError {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        let text = error.to_string();
        // The position is named once, in front, where editors and people look for it.
        let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
        ConfigError::Syntax { file: self.file.to_path_buf(), line, column, message }
    }

    fn origin(&self, at: Location) -> Origin {
        Origin::File { file: Arc::clone(&self.file), line: at.line(), column: at.column() }
    }

    /// Gives the scalar as it was written, so that `0123` and `1.10` survive where text is wanted.
    fn written(&self, at: Location) -> Option<&str> {
        let start = usize::try_from(at.span().byte_offset()?).ok()?;
        let length = usize::try_from(at.span().byte_len()?).ok()?;
        self.text.get(start..start.checked_add(length)?).map(str::trim).filter(|text| !text.is_empty())
    }
}

// === impl Node ===

impl Node {
    fn into_tree(self, source: &Source<'_>) -> Tree {
        let Spanned { value, referenced, defined, .. } = self.0;
        let value = match value {
            Plain::Null => Value::Null,
            Plain::Scalar(kind, Some(text)) => Value::Scalar(Scalar { text, kind }),
            Plain::Scalar(kind, None) => {
                let text = source.written(defined).map_or_else(|| kind.to_string(), str::to_owned);
                Value::Scalar(Scalar { text, kind })
            }
            Plain::List(items) => Value::List(items.into_iter().map(|item| item.into_tree(source)).collect()),
            Plain::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| (key, node.into_tree(source)))
                    .collect::<BTreeMap<_, _>>(),
            ),
        };
        Tree { value, origin: source.origin(referenced) }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_keep_the_form_they_were_written_in() {
        let tree = parse(Path::new("a.yaml"), "a: 0123\nb: 1.10\nc: yes\n").unwrap();
        for (key, text) in [("a", "0123"), ("b", "1.10"), ("c", "yes")] {
            let Some(Value::Scalar(scalar)) = tree.get([key]).map(|tree| &tree.value) else {
                panic!("{key}")
            };
            assert_eq!(scalar.text, text);
        }
    }

    #[test]
    fn anchors_and_merge_keys_are_expanded() {
        let tree = parse(Path::new("a.yaml"), "a: &x {n: 0123}\nb: *x\nc: {<<: *x, m: 1}\n").unwrap();
        for path in [["b", "n"], ["c", "n"]] {
            let Some(Value::Scalar(scalar)) = tree.get(path).map(|tree| &tree.value) else {
                panic!("{path:?}")
            };
            assert_eq!(scalar.text, "0123");
        }
    }

    #[test]
    fn empty_files_are_empty_maps() {
        for text in ["", "\n", "# nothing\n", "---\n", "null\n"] {
            let tree = parse(Path::new("a.yaml"), text).unwrap();
            assert!(matches!(tree.value, Value::Map(entries) if entries.is_empty()), "{text:?}");
        }
    }

    #[test]
    fn broken_file_names_line_and_column() {
        let error = parse(Path::new("/etc/a.yaml"), "a:\n  b: [1\nc: 2\n").unwrap_err();
        let ConfigError::Syntax { line, .. } = &error else { panic!("{error}") };
        assert_eq!(*line, 3);
        assert_eq!(error.to_string(), "/etc/a.yaml:3:2: illegal placement of ':' indicator");
    }
}
