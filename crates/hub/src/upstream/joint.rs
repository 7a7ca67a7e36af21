//! Our answer and the Clouddriver's part of it, made one; if its part is missing, that is said.

use std::collections::HashSet;

use axum::{
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, StatusCode, header, response},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{
    client::{Said, Silence},
    merge::Sides,
    plan::List,
};

/// Names what of an answer is missing, or not as it is now: accounts, and [`UPSTREAM`].
const STALE: HeaderName = HeaderName::from_static("x-spindrift-stale");
const UPSTREAM: &str = "upstream";

/// Our own answer, whole.
pub(super) struct Ours {
    parts: response::Parts,
    body: Bytes,
}

/// The Clouddriver's part of a list.
pub(super) enum Part {
    Said(Said),
    /// It does not know what is asked for.
    NotFound,
    /// It did not say, but perhaps once did.
    Missing {
        why: Silence,
        remembered: Option<Bytes>,
    },
}

// === impl Ours ===

impl Ours {
    pub(super) async fn of(response: Response) -> Self {
        let (mut parts, body) = response.into_parts();
        // What we have said is in memory already.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        for of_ours_alone in [header::CONTENT_LENGTH, header::ETAG] {
            parts.headers.remove(of_ours_alone);
        }
        Self { parts, body }
    }

    /// One answer of both.
    pub(super) fn joined(
        self,
        list: List,
        part: Part,
        accounts: &HashSet<String>,
    ) -> Result<Response, Silence> {
        match (self.parts.status, part) {
            (StatusCode::OK, Part::Said(said)) => Ok(self.with(list, &said.body, accounts)),
            (StatusCode::OK, Part::Missing { remembered: Some(body), .. }) => {
                Ok(stale(self.with(list, &body, accounts)))
            }
            (StatusCode::OK, Part::Missing { remembered: None, .. }) => Ok(stale(self.response())),
            // They alone know it.
            (StatusCode::NOT_FOUND, Part::Said(Said { headers, body, .. })) => {
                let mut parts = self.parts;
                parts.status = StatusCode::OK;
                parts.headers = headers;
                parts.headers.remove(header::CONTENT_LENGTH);
                parts.headers.remove(header::ETAG);
                let nothing = Self { parts, body: Bytes::from_static(list.nothing()) };
                Ok(nothing.with(list, &body, accounts))
            }
            // Perhaps they know it.
            (StatusCode::NOT_FOUND, Part::Missing { why, .. }) => Err(why),
            (_, _) => Ok(self.response()),
        }
    }

    fn with(mut self, list: List, theirs: &[u8], accounts: &HashSet<String>) -> Response {
        match (Sides { ours: &self.body, theirs, accounts }).merge(list) {
            Ok(merged) => {
                self.body = merged.into();
                self.response()
            }
            Err(error) => {
                warn!(?list, %error, "the upstream Clouddriver's answer is not what such answers are; it is left out");
                stale(self.response())
            }
        }
    }

    /// How they are is told beside how we are.
    pub(super) fn with_health(mut self, theirs: Result<Said, Silence>) -> Response {
        let theirs = match theirs {
            Ok(said) => {
                let health: Map<String, Value> = serde_json::from_slice(&said.body).unwrap_or_default();
                json!({ "status": health.get("status").cloned().unwrap_or_else(|| "UNKNOWN".into()) })
            }
            Err(why) => json!({ "status": "DOWN", "detail": why.to_string() }),
        };
        if let Ok(mut ours) = serde_json::from_slice::<Map<String, Value>>(&self.body) {
            ours.insert(UPSTREAM.into(), theirs);
            self.body = Value::Object(ours).to_string().into();
        }
        self.response()
    }

    fn response(self) -> Response {
        Response::from_parts(self.parts, Body::from(self.body))
    }
}

/// Says that the Clouddriver's part is missing, or old.
pub(super) fn stale(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let value = match headers.get(STALE).and_then(|known| known.to_str().ok()) {
        Some(known) => HeaderValue::from_str(&format!("{known},{UPSTREAM}")),
        None => Ok(HeaderValue::from_static(UPSTREAM)),
    };
    if let Ok(value) = value {
        headers.insert(STALE, value);
    }
    response
}
