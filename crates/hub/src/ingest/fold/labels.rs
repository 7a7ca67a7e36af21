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

/// A body that cannot be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidBody {
    #[error("not UTF-8 from byte {0} on")]
    Utf8(usize),
    #[error("not a JSON object: {0}")]
    Json(#[from] serde_json::Error),
}

/// Returns the labels as a JSON object; an empty text if there are none.
pub(super) fn labels(body: &Bytes) -> Result<String, InvalidBody> {
    // The parser does not look into texts that it skips.
    let text = std::str::from_utf8(body).map_err(|error| InvalidBody::Utf8(error.valid_up_to()))?;
    let Partial { metadata } = serde_json::from_str(text)?;
    match metadata.labels {
        Some(labels) if !labels.is_empty() => Ok(serde_json::to_string(&labels)?),
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
    fn a_body_that_is_not_utf8_is_an_error_wherever_it_is_not() {
        for body in
            [&b"{\"data\":{\"a\":\"\xff\"}}"[..], b"{\"metadata\":{\"annotations\":{\"\xc3(\":\"\"}}}"]
        {
            let error = labels(&Bytes::from_static(body)).unwrap_err();
            assert!(matches!(error, InvalidBody::Utf8(at) if body[..at].is_ascii()), "{error}");
        }
    }

    #[test]
    fn an_incomplete_body_is_an_error() {
        assert!(labels(&Bytes::from_static(b"{\"metadata\":{\"labels\":{\"a\":")).is_err());
    }
}
