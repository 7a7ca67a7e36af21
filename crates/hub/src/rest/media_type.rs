//! Media types of request bodies: JSON only.
//!
//! A page of another site can send text and forms without the browser asking first, and JSON only with permission.
//! Clouddriver's framework responds the same way.

use axum::{
    body::HttpBody as _,
    extract::Request,
    http::{HeaderMap, header::CONTENT_TYPE},
    middleware::Next,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::Problem;

use super::{OURS, error::Error};
use crate::clouddriver::routes::Error as ClouddriverError;

/// Type that a body without one counts as.
const UNKNOWN: &str = "application/octet-stream";

/// Refuses a request with a body that is not declared as JSON.
pub(super) async fn require_json(request: Request, next: Next) -> Response {
    let is_safe = request.method().is_safe();
    if is_safe || request.body().is_end_stream() || is_json(request.headers()) {
        return next.run(request).await;
    }
    let path = request.uri().path();
    let found = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let message = format!("Content-Type '{}' is not supported.", found.unwrap_or(UNKNOWN));
    if OURS.iter().any(|ours| path.starts_with(ours)) {
        return Error::unsupported_media_type(format!("{message} Expected application/json")).into_response();
    }
    ClouddriverError::from(Problem::new(415, message, path)).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter().peekable();
    types.peek().is_some()
        && types.all(|value| {
            let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            let media_type = media_type.trim().to_ascii_lowercase();
            media_type == "application/json"
                || (media_type.starts_with("application/") && media_type.ends_with("+json"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_as_spinnakers_services_declare_it() {
        for (media_type, expected) in [
            ("application/json", true),
            ("application/json; charset=UTF-8", true),
            ("Application/JSON;charset=utf-8", true),
            ("application/merge-patch+json", true),
            ("text/plain", false),
            ("text/plain; application/json", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=x", false),
            ("text/x+json", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, media_type.parse().unwrap());
            assert_eq!(is_json(&headers), expected, "{media_type}");
            headers.append(CONTENT_TYPE, "text/plain".parse().unwrap());
            assert!(!is_json(&headers), "{media_type}, and another");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
