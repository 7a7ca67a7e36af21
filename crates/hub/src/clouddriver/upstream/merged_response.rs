//! One response from this hub's own and the upstream's part. If that part is missing, the response is marked as stale.

use axum::{
    body::{Body, to_bytes},
    http::{StatusCode, header, response},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{
    client::{UpstreamError, UpstreamResponse},
    merge::Sides,
    plan::MergedList,
};
use crate::clouddriver::stale_header::{STALE, StaleHeader, UPSTREAM};

/// This hub's own response, complete.
pub(super) struct OwnResponse {
    parts: response::Parts,
    body: Bytes,
}

/// The upstream's part of a list.
pub(super) enum UpstreamPart {
    List(UpstreamResponse),
    /// The upstream has no such resource.
    NotFound,
    /// The upstream responded with another status.
    Rejected {
        response: UpstreamResponse,
        last_good: Option<Bytes>,
    },
    /// There is no response, but perhaps an earlier one.
    Missing {
        why: UpstreamError,
        last_good: Option<Bytes>,
    },
}

/// Accounts of this hub and of the upstream.
#[derive(Clone, Copy)]
pub(super) struct AccountOwners<'a> {
    /// Sorted.
    pub(super) ours: &'a [&'a str],
    pub(super) is_theirs: &'a dyn Fn(&str) -> bool,
}

// === impl OwnResponse ===

impl OwnResponse {
    pub(super) async fn of(response: Response) -> Self {
        let (mut parts, body) = response.into_parts();
        // The hub's own handlers build their bodies in memory, so that reading one cannot fail.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        for own in [header::CONTENT_LENGTH, header::ETAG] {
            parts.headers.remove(own);
        }
        Self { parts, body }
    }

    /// The body, if the request succeeded.
    pub(super) fn good_body(&self) -> Option<&Bytes> {
        (self.parts.status == StatusCode::OK).then_some(&self.body)
    }

    /// Whether this hub failed to serve the request.
    pub(super) fn has_failed(&self) -> bool {
        self.parts.status.is_server_error()
    }

    /// Replaces a failure by an earlier body, and marks this hub's accounts as stale.
    pub(super) fn replaced_by(mut self, body: Bytes, owners: AccountOwners<'_>) -> Self {
        self.parts.status = StatusCode::OK;
        StaleHeader::of(owners.ours.iter().copied()).mark(&mut self.parts.headers);
        Self { body, ..self }
    }

    /// Merges both parts into one response.
    pub(super) fn merge(
        self,
        list: MergedList,
        part: UpstreamPart,
        owners: AccountOwners<'_>,
    ) -> Result<Response, UpstreamError> {
        match (self.parts.status, part) {
            (StatusCode::OK, UpstreamPart::List(theirs)) => Ok(self.with(list, &theirs, owners)),
            (
                StatusCode::OK,
                UpstreamPart::Missing { last_good: Some(body), .. }
                | UpstreamPart::Rejected { last_good: Some(body), .. },
            ) => Ok(stale(self.merged(list, &body, owners))),
            (StatusCode::OK, UpstreamPart::Missing { .. } | UpstreamPart::Rejected { .. }) => {
                Ok(stale(self.response()))
            }
            // Only the upstream has it.
            (StatusCode::NOT_FOUND, UpstreamPart::List(theirs)) => {
                Ok(self.empty(list, &theirs).with(list, &theirs, owners))
            }
            (StatusCode::NOT_FOUND, UpstreamPart::Rejected { response, .. }) => Ok(unchanged(response)),
            // The upstream may have it.
            (StatusCode::NOT_FOUND, UpstreamPart::Missing { why, .. }) => Err(why),
            // A failure of this hub does not hide the upstream's part, unless services act on missing entries.
            (_, UpstreamPart::List(theirs)) if self.has_failed() && !list.is_authoritative() => {
                let mut merged = self.empty(list, &theirs).with(list, &theirs, owners);
                StaleHeader::of(owners.ours.iter().copied()).mark(merged.headers_mut());
                Ok(merged)
            }
            (_, _) => Ok(self.response()),
        }
    }

    /// Empty list with the upstream's headers, to be merged with its part.
    fn empty(self, list: MergedList, theirs: &UpstreamResponse) -> Self {
        let mut parts = self.parts;
        parts.status = StatusCode::OK;
        parts.headers = theirs.headers.clone();
        for own in [header::CONTENT_LENGTH, header::ETAG, STALE] {
            parts.headers.remove(own);
        }
        Self { parts, body: Bytes::from_static(list.empty()) }
    }

    /// Adds the upstream's part and its stale accounts.
    fn with(mut self, list: MergedList, theirs: &UpstreamResponse, owners: AccountOwners<'_>) -> Response {
        let mut stale = StaleHeader::read(&theirs.headers);
        stale.retain(owners.is_theirs);
        stale.mark(&mut self.parts.headers);
        self.merged(list, &theirs.body, owners)
    }

    fn merged(
        mut self,
        list: MergedList,
        theirs: &[u8],
        AccountOwners { is_theirs, .. }: AccountOwners<'_>,
    ) -> Response {
        match (Sides { ours: &self.body, theirs, is_theirs }).merge(list) {
            Ok(merged) => {
                self.body = merged.into();
                self.response()
            }
            Err(error) => {
                warn!(?list, %error, "the upstream Clouddriver's response has an unexpected format; it is left out");
                stale(self.response())
            }
        }
    }

    /// Adds the upstream's health to this hub's own.
    pub(super) fn with_health(mut self, theirs: Result<UpstreamResponse, UpstreamError>) -> Response {
        let theirs = match theirs {
            Ok(response) => {
                // A body that is no JSON object has no status either.
                let health: Map<String, Value> = serde_json::from_slice(&response.body).unwrap_or_default();
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

/// The upstream's response, unchanged.
fn unchanged(theirs: UpstreamResponse) -> Response {
    let mut response = Response::new(Body::from(theirs.body));
    *response.status_mut() = theirs.status;
    *response.headers_mut() = theirs.headers;
    response
}

/// Marks the upstream's part as missing or old.
pub(super) fn stale(mut response: Response) -> Response {
    StaleHeader::of([UPSTREAM]).mark(response.headers_mut());
    response
}
