//! Error responses that no API handler produced.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::cluster::Body;

/// Error as the API server formats it.
pub(super) fn answer(code: u16, retry_after: Option<Duration>) -> Response<Body> {
    let body =
        Full::new(Bytes::from(status(code).to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(after) = retry_after {
        // The header has whole seconds only.
        headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    answer
}

/// Last event of a watch whose history was dropped.
pub(super) fn expired_event() -> Bytes {
    let event = json!({ "type": "ERROR", "object": status(410) });
    Bytes::from(format!("{event}\n"))
}

fn status(code: u16) -> Value {
    let (reason, message) = match code {
        409 => (
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        410 => ("Expired", "too old resource version: the playground forgot it"),
        429 => ("TooManyRequests", "the playground is asked too often, please try again later"),
        503 => ("ServiceUnavailable", "the playground is currently unable to handle the request"),
        504 => ("Timeout", "the playground took too long"),
        _ => ("InternalError", "an error occurred on the playground"),
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "reason": reason, "message": message, "code": code,
    })
}
