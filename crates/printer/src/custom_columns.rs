//! `-o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image`.

use serde_json::Value;

use crate::{
    JsonPath,
    jsonpath::{PathError, SyntaxError, nested},
};

/// Columns of `-o custom-columns`.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomColumns {
    columns: Vec<(String, JsonPath)>,
}

/// Parse error of a column specification; the texts are kubectl's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    #[error("custom-columns format specified but no custom columns given")]
    Empty,
    #[error("unexpected custom-columns spec: {spec}, expected <header>:<json-path-expr>")]
    NoPath { spec: String },
    #[error(transparent)]
    Path(#[from] SyntaxError),
}

// === impl CustomColumns ===

impl CustomColumns {
    pub fn parse(specification: &str) -> Result<Self, ColumnsError> {
        if specification.is_empty() {
            return Err(ColumnsError::Empty);
        }
        let column = |spec: &str| {
            let (header, path) =
                spec.split_once(':').ok_or_else(|| ColumnsError::NoPath { spec: spec.to_owned() })?;
            Ok((header.to_owned(), JsonPath::parse_relaxed(path)?))
        };
        Ok(Self { columns: specification.split(',').map(column).collect::<Result<_, ColumnsError>>()? })
    }

    pub fn header(&self) -> Vec<String> {
        self.columns.iter().map(|(header, _)| header.clone()).collect()
    }

    pub fn row(&self, object: &Value) -> Result<Vec<String>, PathError> {
        let cell = |path: &JsonPath| {
            let found: Vec<_> = path.find(object)?.iter().map(nested).collect();
            Ok(if found.is_empty() { "<none>".to_owned() } else { found.join(",").replace('\u{1b}', "^[") })
        };
        self.columns.iter().map(|(_, path)| cell(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_have_the_values_of_their_paths() {
        let columns =
            CustomColumns::parse("NAME:metadata.name,Images:{.spec.c[*].image},ALL:.spec,NO:.x").unwrap();
        assert_eq!(columns.header(), ["NAME", "Images", "ALL", "NO"]);
        let object =
            json!({ "metadata": { "name": "a" }, "spec": { "c": [{ "image": "i" }, { "image": "j" }] } });
        assert_eq!(
            columns.row(&object).unwrap(),
            ["a", "i,j", "map[c:[map[image:i] map[image:j]]]", "<none>"]
        );
    }

    #[test]
    fn a_column_needs_a_path() {
        let said = |spec: &str| CustomColumns::parse(spec).unwrap_err().to_string();
        assert_eq!(said(""), "custom-columns format specified but no custom columns given");
        assert_eq!(said("NAME"), "unexpected custom-columns spec: NAME, expected <header>:<json-path-expr>");
    }
}
