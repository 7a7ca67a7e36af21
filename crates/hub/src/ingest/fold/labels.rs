//! The labels of an object, read from its body without building the rest of it.

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

/// The labels as a JSON object; empty text if there are none.
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
    fn labels_are_found_wherever_they_stand() {
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
    fn what_is_not_an_object_is_an_error() {
        assert!(labels(&Bytes::from_static(b"{\"metadata\":{\"labels\":{\"a\":")).is_err());
    }
}
