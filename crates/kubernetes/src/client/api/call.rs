//! Requests of any method, for operations: sent once, with the response read whole or chunk by chunk.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, Collected, Limited};
use spindrift_model::{Resource, check_namespace_subresource};
use tokio::time::{Instant, timeout_at};

use super::{Api, LONGEST_BODY, unread};
use crate::client::{
    error::ApiError,
    incoming::Incoming,
    request::{UrlPath, percent_encode},
    status::Status,
    transport::{Body, RequestClass},
};

/// Request to the API server.
#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: UrlPath,
    is_about_namespace: bool,
    query: String,
    accept: &'static str,
    content_type: &'static str,
    body: Bytes,
}

/// Response that was read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub code: u16,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// The response body.
    pub body: Bytes,
}

/// Response body that is read chunk by chunk.
pub struct Pieces(Incoming);

/// Longest body of an error response: an API server that cannot parse a patch quotes it, twice. It still fits into one
/// message to the hub.
const LONGEST_QUOTED_ERROR: usize = 3 * 1024 * 1024;

// === impl Call ===

impl Call {
    /// Creates a request for JSON at the path of these segments.
    pub fn new<'a>(method: Method, segments: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            method,
            path: segments.into_iter().collect(),
            is_about_namespace: false,
            query: String::new(),
            accept: "application/json",
            content_type: "application/json",
            body: Bytes::new(),
        }
    }

    /// Creates a request for an object or, without a name, for the collection of a resource.
    pub fn about(method: Method, resource: &Resource, namespace: Option<&str>, name: Option<&str>) -> Self {
        let core = resource.group.is_empty();
        let mut segments = if core { vec!["api"] } else { vec!["apis", &*resource.group] };
        segments.push(resource.version.as_str());
        if let Some(namespace) = namespace.filter(|_| resource.namespaced) {
            segments.extend(["namespaces", namespace]);
        }
        segments.push(&resource.plural);
        segments.extend(name);
        let is_about_namespace = !resource.namespaced && &*resource.plural == "namespaces";
        Self { is_about_namespace, ..Self::new(method, segments) }
    }

    /// Appends a subresource, such as `scale`.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        if self.is_about_namespace {
            self.path.require(check_namespace_subresource(subresource));
        }
        self.path.push(subresource);
        self
    }

    /// Sets the `Accept` header.
    #[must_use]
    pub fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn query(mut self, key: &str, value: &str) -> Self {
        self.query.push(if self.query.is_empty() { '?' } else { '&' });
        percent_encode(key, &mut self.query);
        self.query.push('=');
        percent_encode(value, &mut self.query);
        self
    }

    /// Sets the body and its content type.
    #[must_use]
    pub fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { content_type, body: body.into(), ..self }
    }

    fn title(&self) -> String {
        self.to_string()
    }

    fn build(&self) -> Result<Request<Bytes>, ApiError> {
        if let Some(invalid) = self.path.invalid() {
            return Err(ApiError::InvalidPath { method: self.method.to_string(), source: invalid.clone() });
        }
        let mut request = Request::builder()
            .method(&self.method)
            .uri(format!("{}{}", self.path.text(), self.query))
            .header(header::ACCEPT, self.accept)
            .header(header::ACCEPT_ENCODING, "identity");
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, self.content_type);
        }
        request.body(self.body.clone()).map_err(|source| ApiError::Build { request: self.title(), source })
    }
}

/// Method and path, for errors.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path.text())
    }
}

// === impl Api ===

impl Api {
    /// Sends a request once and reads the whole response before the deadline.
    pub async fn call(&self, call: &Call, deadline: Instant) -> Result<Reply, ApiError> {
        let limit = deadline.saturating_duration_since(Instant::now());
        let reply = async {
            let (head, body) = self.begin(call).await?.into_parts();
            let body = Limited::new(body, LONGEST_BODY).collect().await;
            let body = body.map_err(|source| unread(call.title(), source))?;
            Ok(Reply { code: head.status.as_u16(), warnings: warnings(&head.headers), body: body.to_bytes() })
        };
        timeout_at(deadline, reply)
            .await
            .unwrap_or_else(|_| Err(ApiError::TimedOut { request: call.title(), limit }))
    }

    /// Sends a request once and returns the response body as it arrives. A slow reader delays no other request.
    pub async fn pieces(&self, call: &Call, deadline: Instant) -> Result<Pieces, ApiError> {
        let limit = deadline.saturating_duration_since(Instant::now());
        let answer = timeout_at(deadline, self.begin(call)).await;
        let answer = answer.unwrap_or_else(|_| Err(ApiError::TimedOut { request: call.title(), limit }))?;
        Ok(Pieces(Incoming::new(&call.title(), answer.into_body())))
    }

    async fn begin(&self, call: &Call) -> Result<Response<Body>, ApiError> {
        let request = call.build()?;
        let answer = Box::pin(self.transport.send(RequestClass::Operations, &request)).await;
        let answer =
            answer.map_err(|source| ApiError::Send { request: call.title(), source: Box::new(source) })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        // The code is enough if the body is too long or cannot be read.
        let body = Limited::new(body, LONGEST_QUOTED_ERROR).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        Err(ApiError::Refused {
            request: call.title(),
            source: Status::of_response(head.status, &head.headers, &body).into(),
        })
    }
}

// === impl Pieces ===

impl Pieces {
    /// Returns the next chunk, or none at the end.
    pub async fn next(&mut self, chunk_timeout: Duration) -> Result<Option<Bytes>, ApiError> {
        self.0.chunk(Instant::now() + chunk_timeout, chunk_timeout).await
    }
}

/// Returns the texts of `Warning: 299 - "text"`.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    // The API server quotes field names, which need not be ASCII.
    let values =
        headers.get_all(header::WARNING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    values
        .filter_map(|value| {
            let quoted = &value.get(value.find('"')? + 1..value.rfind('"')?)?;
            Some(quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_read_as_the_api_server_quotes_them() {
        let mut headers = HeaderMap::new();
        headers.append(header::WARNING, r#"299 - "unknown field \"spec.replicsa\"""#.parse().unwrap());
        headers.append(header::WARNING, "299 -".parse().unwrap());
        headers.append(header::WARNING, r#"299 - ""#.parse().unwrap());
        let umlaut = "299 - \"unknown field \\\"größe\\\"\"";
        headers.append(header::WARNING, http::HeaderValue::from_bytes(umlaut.as_bytes()).unwrap());
        assert_eq!(warnings(&headers), [r#"unknown field "spec.replicsa""#, r#"unknown field "größe""#]);
    }

    #[test]
    fn a_body_is_sent_with_its_content_type() {
        let call = Call::new(Method::PATCH, ["api", "v1", "namespaces", "a b"])
            .query("fieldManager", "x&y")
            .body("application/merge-patch+json", "{}");
        let request = call.build().unwrap();
        assert_eq!(request.uri(), "/api/v1/namespaces/a%20b?fieldManager=x%26y");
        assert_eq!(request.headers()[header::CONTENT_TYPE], "application/merge-patch+json");
        assert_eq!(call.title(), "PATCH /api/v1/namespaces/a%20b");
    }
}
