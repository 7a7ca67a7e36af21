//! From errors of the API server, and of calls that had no answer, to errors of operations.

use serde_json::Value;
use spindrift_kubernetes::{ApiError, Call, Status};
use spindrift_model::{ErrorKind, OperationError, StatusSource};
use spindrift_process::report;

/// Error of a call that changes nothing.
pub(super) fn of_read(error: &ApiError) -> OperationError {
    match error {
        ApiError::Refused { source, .. } => of_status(source),
        ApiError::TimedOut { .. } => OperationError::agent(ErrorKind::Timeout, report(error)),
        ApiError::InvalidPath { .. } => OperationError::agent(ErrorKind::BadRequest, report(error)),
        _ => OperationError::agent(ErrorKind::BadAnswer, report(error)),
    }
}

/// Error of a call that changes something: without an answer, the outcome is unknown.
pub(super) fn of_change(error: &ApiError) -> OperationError {
    match error {
        ApiError::Refused { source, .. } => of_status(source),
        ApiError::InvalidPath { .. } | ApiError::Build { .. } => {
            OperationError::agent(ErrorKind::BadRequest, report(error))
        }
        _ => OperationError::unknown(report(error)),
    }
}

/// Error of an answer of the API server that cannot be parsed.
pub(super) fn unreadable(call: &Call, malformed: &impl std::error::Error) -> OperationError {
    let message = format!("the answer to {call} cannot be read: {}", report(malformed));
    OperationError::agent(ErrorKind::BadAnswer, message)
}

/// The API server's `Status`, verbatim; of a proxy's answer that is no JSON, one that quotes it.
fn of_status(status: &Status) -> OperationError {
    let is_json = serde_json::from_slice::<serde_json::Map<_, _>>(&status.document).is_ok();
    let document = if is_json {
        status.document.clone()
    } else {
        StatusSource::ApiServer.status(status.code, &status.reason, &status.message)
    };
    OperationError::api_server(status.code, document)
}

/// Hides quoted values of a Secret. An API server that cannot parse a patch quotes all of it, and the hub stores the
/// status.
pub(super) fn without_values(error: OperationError) -> OperationError {
    let Ok(mut document) = serde_json::from_slice::<Value>(&error.status) else { return error };
    let mut hidden = false;
    let causes = document.pointer_mut("/details/causes").and_then(Value::as_array_mut);
    for cause in causes.into_iter().flatten() {
        hidden |= hide(&mut cause["message"]);
    }
    hidden |= hide(&mut document["message"]);
    // A status that quotes nothing stays byte for byte.
    if hidden { OperationError { status: document.to_string().into(), ..error } } else { error }
}

/// Hides a quoted object in a message, from its beginning to the last word after it.
fn hide(message: &mut Value) -> bool {
    let Some(text) = message.as_str() else { return false };
    let begin = ["Invalid value: \"map[", "Invalid value: \"{", " found in #"]
        .iter()
        .find_map(|quote| text.find(quote));
    let Some(begin) = begin else { return false };
    let end = text.rfind("\": ").filter(|end| *end > begin).map_or(text.len(), |end| end + 1);
    let rest = text.get(end..).unwrap_or_default();
    *message = format!("{}Invalid value: \"…\"{rest}", text.get(..begin).unwrap_or_default()).into();
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_an_api_server_quotes_of_a_secret_are_hidden_and_other_words_stay() {
        let quoted = r#"patch: Invalid value: "map[stringData:map[a:canary] x:\"y\": z]": strict decoding error: unknown field "x""#;
        let refused = |message: &str| {
            let status = json!({ "code": 422, "message": message, "details": { "causes": [{ "field": "patch", "message": message }] } });
            OperationError::api_server(422, status.to_string().into())
        };
        let hidden = r#"patch: Invalid value: "…": strict decoding error: unknown field "x""#;
        assert_eq!(without_values(refused(quoted)), refused(hidden));
        let broken = r#"Secret in version "v1" cannot be handled, error found in #10 byte of ...|canary|..., bigger context ...|"a":"canary"|..."#;
        let status = without_values(refused(broken)).status;
        assert!(!String::from_utf8_lossy(&status).contains("canary"));
        for plain in [r#"type: Invalid value: "kubernetes.io/tls": field is immutable"#, "no"] {
            assert_eq!(without_values(refused(plain)), refused(plain), "{plain}");
        }
    }
}
