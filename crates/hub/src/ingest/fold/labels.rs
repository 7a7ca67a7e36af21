//! Labels of an object, read from its body without parsing the rest.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

#[derive(Deserialize)]
struct Partial {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

/// Returns the labels as a JSON object; an empty text if there are none.
pub(super) fn labels(body: &Bytes) -> Result<String, serde_json::Error> {
    let Partial { metadata } = serde_json::from_slice(body)?;
    match metadata.labels {
        Some(labels) if !labels.is_empty() => serde_json::to_string(&labels),
        _ => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_of_the_object_itself_are_read() {
        for (body, expected) in [
            (
                r#"{"kind":"Pod","metadata":{"name":"a","labels":{"b":"2","a":"1"}},"spec":{"x":[1]}}"#,
                r#"{"a":"1","b":"2"}"#,
            ),
            (r#"{"metadata":{"labels":null}}"#, ""),
            (r#"{"spec":{"metadata":{"labels":{"not":"these"}}}}"#, ""),
        ] {
            assert_eq!(labels(&Bytes::from_static(body.as_bytes())).unwrap(), expected);
        }
    }

    #[test]
    fn an_incomplete_body_is_an_error() {
        assert!(labels(&Bytes::from_static(b"{\"metadata\":{\"labels\":{\"a\":")).is_err());
    }
}
