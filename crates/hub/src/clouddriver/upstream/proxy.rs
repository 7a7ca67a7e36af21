//! Layer around all routes: serves each request here, at the upstream, or at both, as its [`RoutePlan`] says.

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderName, Method, StatusCode, header, request},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use spindrift_spinnaker::Refusal;
use tokio::time::Instant;

use super::{
    Upstream,
    client::UpstreamError,
    last_good::{RequestKey, Side},
    merged_response::{AccountOwners, OwnResponse, UpstreamPart, stale},
    operations::{Destination, OperationAccount},
    plan::{MergedList, OperationsForm, RoutePlan},
};
use crate::{
    clouddriver::{
        Accounts,
        routes::{Error, tagged},
    },
    rest::body,
};

/// Timeout of the upstream's health: a Kubernetes probe waits for a second.
const HEALTH: Duration = Duration::from_millis(500);
/// Size of a body that is read before it is forwarded: manifests of a large deployment.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// Headers that describe a body, which is not sent, or ask for less than a whole response.
const BODY_HEADERS: [HeaderName; 9] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::RANGE,
];
const USER: HeaderName = HeaderName::from_static("x-spinnaker-user");

struct Proxy {
    upstream: Upstream,
    accounts: Accounts,
}

/// Wraps the routes of this hub.
pub(super) fn layer(upstream: Upstream, accounts: Accounts, routes: Router) -> Router {
    routes.layer(from_fn_with_state(Arc::new(Proxy { upstream, accounts }), serve))
}

async fn serve(State(proxy): State<Arc<Proxy>>, request: Request, next: Next) -> Response {
    let response = proxy.respond(request, next).await;
    response.unwrap_or_else(IntoResponse::into_response)
}

// === impl Proxy ===

impl Proxy {
    async fn respond(&self, request: Request, next: Next) -> Result<Response, Error> {
        let path = request.uri().path();
        let is_loop = self.upstream.client.has_passed(request.headers());
        if is_loop || is_grpc(&request) || !self.upstream.serves_path(path) {
            return Ok(next.run(request).await);
        }
        match RoutePlan::of(request.method(), path) {
            RoutePlan::Theirs => self.forward_or_empty(request, next).await,
            RoutePlan::Account(account) if self.is_ours(&account).await? => Ok(next.run(request).await),
            RoutePlan::Account(_) => self.forward(request).await,
            RoutePlan::Merge(list) if request.method() == Method::GET => {
                self.merged(list, request, next).await
            }
            RoutePlan::Ours | RoutePlan::Merge(_) => Ok(next.run(request).await),
            RoutePlan::Task(id) => self.task(&id, request, next).await,
            RoutePlan::OursFirst => self.ours_first(request, next).await,
            RoutePlan::Operations(form) => self.operations(&form, request, next).await,
        }
    }

    /// Whether this hub serves an account. It also serves those that the configuration keeps from the upstream, as 404.
    async fn is_ours(&self, account: &str) -> Result<bool, Error> {
        Ok(!self.upstream.serves_account(account) || self.accounts.has(account).await?)
    }

    async fn forward(&self, request: Request) -> Result<Response, Error> {
        self.try_forward(request).await.map_err(|error| failure(&error))
    }

    async fn try_forward(&self, request: Request) -> Result<Response, UpstreamError> {
        let Upstream { client, availability, .. } = &self.upstream;
        let path = request.uri().path().to_owned();
        let response = client.forward(request).await?;
        availability.responded(&path, Instant::now());
        Ok(response)
    }

    /// Forwards a request. If that fails, a list that is always empty here (networks, subnets, tags, …) is returned,
    /// marked as stale, which is better than an error.
    async fn forward_or_empty(&self, request: Request, next: Next) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let empty = (parts.method == Method::GET).then(|| Request::from_parts(parts.clone(), Body::empty()));
        match (self.try_forward(Request::from_parts(parts, body)).await, empty) {
            (Ok(response), _) => Ok(response),
            (Err(error), None) => Err(failure(&error)),
            (Err(error), Some(request)) => {
                let ours = next.run(request).await;
                if ours.status().is_success() { Ok(stale(ours)) } else { Err(failure(&error)) }
            }
        }
    }

    /// Serves a task. Its id does not show who created it, so that a change first looks for the task here.
    async fn task(&self, id: &str, request: Request, next: Next) -> Result<Response, Error> {
        if request.method() == Method::GET {
            return self.ours_first(request, next).await;
        }
        let is_ours = match Request::get(format!("/task/{id}")).body(Body::empty()) {
            Ok(lookup) => next.clone().run(lookup).await.status() != StatusCode::NOT_FOUND,
            Err(_) => false,
        };
        if is_ours { Ok(next.run(request).await) } else { self.forward(request).await }
    }

    async fn ours_first(&self, request: Request, next: Next) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let body = whole(body, parts.uri.path()).await?;
        let ours = next.run(Request::from_parts(parts.clone(), Body::from(body.clone()))).await;
        let reads = parts.method == Method::GET;
        let request = Request::from_parts(parts, Body::from(body));
        match ours.status() {
            StatusCode::NOT_FOUND => self.forward(request).await,
            // The upstream may have it even if this hub's store fails.
            status if status.is_server_error() && reads => {
                let theirs =
                    self.try_forward(request).await.ok().filter(|theirs| theirs.status().is_success());
                Ok(theirs.unwrap_or(ours))
            }
            _ => Ok(ours),
        }
    }

    async fn operations(
        &self,
        form: &OperationsForm,
        request: Request,
        next: Next,
    ) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let body = whole(body, parts.uri.path()).await?;
        let operations = OperationAccount::read(form, &body);
        let mut ours = HashSet::new();
        for account in operations.iter().filter_map(|operation| operation.account.as_deref()) {
            if self.is_ours(account).await? {
                ours.insert(account);
            }
        }
        let destination = Destination::of(&operations, |account| ours.contains(account));
        let request = Request::from_parts(parts, Body::from(body));
        match destination {
            Destination::Hub => Ok(next.run(request).await),
            // Orca retries a 503, not a 502. Only if nothing was sent: otherwise the operations may have run.
            Destination::Upstream => self.try_forward(request).await.map_err(|error| match error {
                UpstreamError::NotConnected(_) => Refusal::unavailable(error.to_string()).into(),
                _ => failure(&error),
            }),
            Destination::Mixed { ours, theirs } => Err(Error::from(Refusal::invalid_request(format!(
                "the operations of a request are one task, but {} of this hub and {} of the Clouddriver behind it; \
                 send them in separate requests",
                are(ours),
                are(theirs)
            )))),
        }
    }

    async fn merged(&self, list: MergedList, request: Request, next: Next) -> Result<Response, Error> {
        let (mut parts, body) = request.into_parts();
        let theirs = without_body(parts.clone());
        // The tag of a merged response is that of neither part.
        let known = parts.headers.remove(header::IF_NONE_MATCH);
        let key = RequestKey::of(&parts);
        let ours = async { OwnResponse::of(next.run(Request::from_parts(parts, body)).await).await };
        if list == MergedList::Health {
            // The hub's health does not depend on the upstream, nor on how long it takes to respond.
            let limit = HEALTH.min(self.upstream.merge_timeout);
            let (ours, theirs) = tokio::join!(ours, self.upstream.client.fetch(theirs, limit));
            return Ok(ours.with_health(theirs));
        }
        let (mut ours, part) = tokio::join!(ours, self.upstream_part(list, &key, theirs));
        let accounts = self.accounts.all().await?;
        let names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
        let is_theirs =
            |account: &str| names.binary_search(&account).is_err() && self.upstream.serves_account(account);
        let owners = AccountOwners { ours: &names, is_theirs: &is_theirs };
        let (last_good, now) = (&self.upstream.last_good, Instant::now());
        if let Some(body) = ours.good_body().filter(|_| list.is_polled()) {
            last_good.store(Side::Ours, &key, body, now);
        } else if ours.has_failed()
            && let Some(body) = last_good.get(Side::Ours, &key, now)
        {
            ours = ours.replaced_by(body, owners);
        }
        let merged = ours.merge(list, part, owners).map_err(|error| failure(&error))?;
        let is_list = merged.status() == StatusCode::OK;
        Ok(if is_list { tagged(merged, known.as_ref()).await } else { merged })
    }

    /// Requests the upstream's part of a list.
    async fn upstream_part(&self, list: MergedList, key: &RequestKey, request: Request) -> UpstreamPart {
        let Upstream { client, availability, last_good, merge_timeout, .. } = &self.upstream;
        let path = request.uri().path().to_owned();
        let sent = Instant::now();
        let last_good_body = || last_good.get(Side::Theirs, key, Instant::now());
        let missing = |why: UpstreamError| UpstreamPart::Missing { why, last_good: last_good_body() };
        if let Some(why) = availability.recent_failure(&path, sent) {
            return missing(why);
        }
        let response = match client.fetch(request, *merge_timeout).await {
            Ok(response) => response,
            Err(why) => {
                if why.is_unavailable() {
                    availability.failed(&path, &why, sent, Instant::now());
                }
                return missing(why);
            }
        };
        availability.responded(&path, Instant::now());
        match response.status {
            StatusCode::OK => {
                if let Some(why) = response.encoding_error() {
                    return missing(why);
                }
                if list.is_polled() {
                    last_good.store(Side::Theirs, key, &response.body, Instant::now());
                }
                UpstreamPart::List(response)
            }
            StatusCode::NOT_FOUND => UpstreamPart::NotFound,
            _ => UpstreamPart::Rejected { response, last_good: last_good_body() },
        }
    }
}

/// The same request without its body.
fn without_body(mut parts: request::Parts) -> Request {
    for name in BODY_HEADERS {
        parts.headers.remove(name);
    }
    Request::from_parts(parts, Body::empty())
}

// === impl RequestKey ===

impl RequestKey {
    fn of(parts: &request::Parts) -> Self {
        let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let user = parts.headers.get(USER).map(|user| Bytes::copy_from_slice(user.as_bytes()));
        Self { path, user }
    }
}

fn is_grpc(request: &Request) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

async fn whole(body: Body, path: &str) -> Result<Bytes, Error> {
    body::read(body, LARGEST_BODY).await.map_err(|unread| Error::unread(unread, path))
}

fn are(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

fn failure(error: &UpstreamError) -> Error {
    let refusal = match error {
        UpstreamError::Timeout(_) => Refusal::gateway_timeout(error.to_string()),
        UpstreamError::NotConnected(_) | UpstreamError::Unreachable(_) | UpstreamError::Invalid(_) => {
            Refusal::bad_gateway(error.to_string())
        }
    };
    refusal.into()
}
