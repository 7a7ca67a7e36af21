//! Content type, `ETag` and status codes that all of Clouddriver's responses share.

use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{
        HeaderValue, Method, StatusCode, Uri,
        header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use spindrift_spinnaker::{Problem, Refusal};

use super::error::{Error, STORE_FAILED};
use crate::hex::hex;

const JSON: HeaderValue = HeaderValue::from_static("application/json;charset=UTF-8");

/// Sets content type and `ETag`, formats 405, and turns the 503 of a change into a 500.
pub(super) async fn finish(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let mut response = next.run(request).await;
    if response.status() == StatusCode::SERVICE_UNAVAILABLE && method != Method::GET && method != Method::HEAD
    {
        // Orca retries a 503 until its stage times out, and a 500 three times.
        response = Error::from(Refusal::internal(STORE_FAILED)).into_response();
    }
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
        response.headers_mut().insert(CONTENT_TYPE, JSON);
    }
    match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => {
            Error::from(Problem::wrong_method(method.as_str(), &path)).into_response()
        }
        StatusCode::OK if method == Method::GET => tagged(response, known.as_ref()).await,
        _ => response,
    }
}

/// JSON response, serialized into a buffer of about the size it needs.
pub(super) fn long_json(content: &impl Serialize, bytes: usize) -> Response {
    let mut body = Vec::with_capacity(bytes);
    match serde_json::to_writer(&mut body, content) {
        Ok(()) => ([(CONTENT_TYPE, JSON)], body).into_response(),
        Err(error) => Error::from(Refusal::internal(format!("the response cannot be serialized: {error}")))
            .into_response(),
    }
}

/// Adds an `ETag` of the whole body; 304 without a body if the caller has it.
pub(crate) async fn tagged(response: Response, known: Option<&HeaderValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return Error::from(Refusal::internal("the response body failed")).into_response();
    };
    let digest = digest(&SHA256, &body);
    let tag = format!("\"0{}\"", hex(&digest.as_ref()[..16]));
    let is_known = known.and_then(|known| known.to_str().ok()).is_some_and(|known| names(known, &tag));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        parts.headers.insert(ETAG, tag);
    }
    if !is_known {
        return Response::from_parts(parts, Body::from(body));
    }
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::empty())
}

/// Whether a list of tags, weak or strong, has this one.
fn names(known: &str, tag: &str) -> bool {
    known.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// 404 for a path without a route.
pub(crate) fn no_such_route(uri: &Uri) -> Response {
    Error::from(Problem::no_such_route(uri.path())).into_response()
}

/// Removes a trailing slash, which Clouddriver ignores.
pub(crate) fn without_trailing_slash(mut request: Request) -> Request {
    let path = request.uri().path();
    if path.len() > 1 && path.ends_with('/') {
        let path = path.trim_end_matches('/');
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        if let Ok(uri) = format!("{path}{query}").parse() {
            *request.uri_mut() = uri;
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_slash_is_ignored() {
        let trimmed = |uri: &str| {
            let request = Request::builder().uri(uri).body(Body::empty()).unwrap();
            without_trailing_slash(request).uri().to_string()
        };
        let table = [
            ("/credentials/", "/credentials"),
            ("/credentials/?expand=true", "/credentials?expand=true"),
            ("/a/b", "/a/b"),
            ("/", "/"),
            ("//", "/"),
        ];
        for (uri, expected) in table {
            assert_eq!(trimmed(uri), expected);
        }
    }

    #[test]
    fn tags_are_compared_one_by_one() {
        assert!(names("\"x\", W/\"0ab\"", "\"0ab\"") && names("*", "\"0ab\""));
        assert!(!names("\"x\",\"0abc\"", "\"0ab\""));
    }
}
