//! Our answer and the Clouddriver's part of it, made one; if its part is missing, that is said.

use axum::{
    body::{Body, to_bytes},
    http::{StatusCode, header, response},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{
    client::{Said, Silence},
    merge::Sides,
    plan::List,
    stale::{STALE, Stale, UPSTREAM},
};

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
    /// It answered, but with something else than a list.
    Refused {
        said: Said,
        remembered: Option<Bytes>,
    },
    /// It did not say, but perhaps once did.
    Missing {
        why: Silence,
        remembered: Option<Bytes>,
    },
}

/// Whose accounts are whose.
#[derive(Clone, Copy)]
pub(super) struct Owners<'a> {
    /// Sorted.
    pub(super) ours: &'a [&'a str],
    pub(super) is_theirs: &'a dyn Fn(&str) -> bool,
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

    /// What was said, if it was what was asked for.
    pub(super) fn said(&self) -> Option<&Bytes> {
        (self.parts.status == StatusCode::OK).then_some(&self.body)
    }

    /// Whether we could not say anything.
    pub(super) fn has_failed(&self) -> bool {
        self.parts.status.is_server_error()
    }

    /// What we said before instead of what we have failed to say.
    pub(super) fn recalled(mut self, body: Bytes, owners: Owners<'_>) -> Self {
        self.parts.status = StatusCode::OK;
        Stale::of(owners.ours.iter().copied()).mark(&mut self.parts.headers);
        Self { body, ..self }
    }

    /// One answer of both.
    pub(super) fn joined(self, list: List, part: Part, owners: Owners<'_>) -> Result<Response, Silence> {
        match (self.parts.status, part) {
            (StatusCode::OK, Part::Said(said)) => Ok(self.with(list, &said, owners)),
            (
                StatusCode::OK,
                Part::Missing { remembered: Some(body), .. } | Part::Refused { remembered: Some(body), .. },
            ) => Ok(stale(self.merged(list, &body, owners))),
            (StatusCode::OK, Part::Missing { .. } | Part::Refused { .. }) => Ok(stale(self.response())),
            // They alone know it.
            (StatusCode::NOT_FOUND, Part::Said(said)) => {
                Ok(self.nothing(list, &said).with(list, &said, owners))
            }
            (StatusCode::NOT_FOUND, Part::Refused { said, .. }) => Ok(whole(said)),
            // Perhaps they know it.
            (StatusCode::NOT_FOUND, Part::Missing { why, .. }) => Err(why),
            // What is theirs does not depend on how we are, where people look at it.
            (_, Part::Said(said)) if self.has_failed() && !list.decides() => {
                let mut theirs = self.nothing(list, &said).with(list, &said, owners);
                Stale::of(owners.ours.iter().copied()).mark(theirs.headers_mut());
                Ok(theirs)
            }
            (_, _) => Ok(self.response()),
        }
    }

    /// A list with nothing of ours in it, as theirs.
    fn nothing(self, list: List, said: &Said) -> Self {
        let mut parts = self.parts;
        parts.status = StatusCode::OK;
        parts.headers = said.headers.clone();
        for of_theirs_alone in [header::CONTENT_LENGTH, header::ETAG, STALE] {
            parts.headers.remove(of_theirs_alone);
        }
        Self { parts, body: Bytes::from_static(list.nothing()) }
    }

    /// With their part, and what they say of it.
    fn with(mut self, list: List, said: &Said, owners: Owners<'_>) -> Response {
        let mut stale = Stale::read(&said.headers);
        stale.retain(owners.is_theirs);
        stale.mark(&mut self.parts.headers);
        self.merged(list, &said.body, owners)
    }

    fn merged(mut self, list: List, theirs: &[u8], Owners { is_theirs, .. }: Owners<'_>) -> Response {
        match (Sides { ours: &self.body, theirs, is_theirs }).merge(list) {
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

/// An answer as it came.
fn whole(said: Said) -> Response {
    let mut response = Response::new(Body::from(said.body));
    *response.status_mut() = said.status;
    *response.headers_mut() = said.headers;
    response
}

/// Says that the Clouddriver's part is missing, or old.
pub(super) fn stale(mut response: Response) -> Response {
    Stale::of([UPSTREAM]).mark(response.headers_mut());
    response
}
