//! Value of `--output`.

use anyhow::bail;
use serde::Serialize;
use spindrift_printer::{CustomColumns, JsonPath};

#[derive(Debug, Clone)]
pub(crate) enum Output {
    Table,
    Wide,
    CustomColumns(CustomColumns),
    Json,
    Yaml,
    Name,
    JsonPath(JsonPath),
}

// === impl Output ===

impl Output {
    pub(crate) fn parse(format: Option<&str>) -> anyhow::Result<Self> {
        let Some(format) = format else { return Ok(Self::Table) };
        let (name, argument) = format.split_once('=').unwrap_or((format, ""));
        Ok(match name {
            "" => Self::Table,
            "wide" => Self::Wide,
            "json" => Self::Json,
            "yaml" => Self::Yaml,
            "name" => Self::Name,
            "jsonpath" if argument.is_empty() => bail!("template format specified but no template given"),
            "jsonpath" => match JsonPath::parse(argument) {
                Ok(path) => Self::JsonPath(path),
                Err(error) => bail!("error parsing jsonpath {argument}, {error}"),
            },
            "custom-columns" => Self::CustomColumns(CustomColumns::parse(argument)?),
            _ => bail!(
                "unable to match a printer suitable for the output format \"{name}\", allowed formats are: \
                 custom-columns,json,jsonpath,name,wide,yaml"
            ),
        })
    }

    /// Whether objects are printed as rows.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self, Self::Table | Self::Wide | Self::CustomColumns(_))
    }
}

/// Formats a document as YAML, with a final line break.
pub(crate) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_is_an_error_with_the_known_ones() {
        for (format, expected) in [
            ("go-template=x", "custom-columns,json,jsonpath,name,wide,yaml"),
            ("jsonpath={.a", "error parsing jsonpath {.a, unclosed action"),
            ("jsonpath", "no template given"),
            ("custom-columns=A", "expected <header>:<json-path-expr>"),
        ] {
            let error = Output::parse(Some(format)).unwrap_err().to_string();
            assert!(error.contains(expected), "{format}: {error}");
        }
        assert!(Output::parse(Some("wide")).unwrap().is_table());
        assert!(!Output::parse(Some("jsonpath={.a}")).unwrap().is_table());
    }
}
