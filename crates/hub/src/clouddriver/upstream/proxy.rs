//! The layer around all routes that does what the plan says.

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
    client::Silence,
    last_good::{Question, Side},
    merged_response::{Ours, Owners, Part, stale},
    operations::{Asked, Doer},
    plan::{List, Operations, Plan},
};
use crate::{
    clouddriver::{
        Accounts,
        routes::{Error, tagged},
    },
    rest::body,
};

/// A probe of Kubernetes waits for a second.
const HEALTH: Duration = Duration::from_millis(500);
/// Bodies that are read before they are passed on: manifests of a large deployment.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// What tells of a body that is not sent, or asks for less than a whole answer.
const OF_A_BODY: [HeaderName; 9] = [
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

struct Front {
    upstream: Upstream,
    accounts: Accounts,
}

/// Puts the Clouddriver behind the routes of this hub.
pub(super) fn front(upstream: Upstream, accounts: Accounts, routes: Router) -> Router {
    routes.layer(from_fn_with_state(Arc::new(Front { upstream, accounts }), serve))
}

async fn serve(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    let answer = front.answer(request, next).await;
    answer.unwrap_or_else(IntoResponse::into_response)
}

// === impl Front ===

impl Front {
    async fn answer(&self, request: Request, next: Next) -> Result<Response, Error> {
        let path = request.uri().path();
        let comes_round = self.upstream.client.has_passed(request.headers());
        if comes_round || is_grpc(&request) || !self.upstream.serves_path(path) {
            return Ok(next.run(request).await);
        }
        match Plan::of(request.method(), path) {
            Plan::Theirs => self.pass_or_stand_in(request, next).await,
            Plan::Account(account) if self.is_ours(&account).await? => Ok(next.run(request).await),
            Plan::Account(_) => self.pass(request).await,
            Plan::Merge(list) if request.method() == Method::GET => self.merged(list, request, next).await,
            Plan::Ours | Plan::Merge(_) => Ok(next.run(request).await),
            Plan::Task(id) => self.task(&id, request, next).await,
            Plan::OursFirst => self.ours_first(request, next).await,
            Plan::Operations(form) => self.operations(&form, request, next).await,
        }
    }

    /// An account that the Clouddriver is not to be asked for is ours, if only to say that there is none.
    async fn is_ours(&self, account: &str) -> Result<bool, Error> {
        Ok(!self.upstream.serves_account(account) || self.accounts.has(account).await?)
    }

    async fn pass(&self, request: Request) -> Result<Response, Error> {
        self.passed(request).await.map_err(|silence| failure(&silence))
    }

    async fn passed(&self, request: Request) -> Result<Response, Silence> {
        let Upstream { client, conditions, .. } = &self.upstream;
        let path = request.uri().path().to_owned();
        let response = client.pass(request).await?;
        conditions.answered(&path, Instant::now());
        Ok(response)
    }

    /// What we have nothing to say about is empty here (networks, subnets, tags, …): better than an error, if told.
    async fn pass_or_stand_in(&self, request: Request, next: Next) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let stand_in =
            (parts.method == Method::GET).then(|| Request::from_parts(parts.clone(), Body::empty()));
        match (self.passed(Request::from_parts(parts, body)).await, stand_in) {
            (Ok(response), _) => Ok(response),
            (Err(silence), None) => Err(failure(&silence)),
            (Err(silence), Some(request)) => {
                let ours = next.run(request).await;
                if ours.status().is_success() { Ok(stale(ours)) } else { Err(failure(&silence)) }
            }
        }
    }

    /// Ids say nothing of who gave them, so we look whether it was us, before anything is done.
    async fn task(&self, id: &str, request: Request, next: Next) -> Result<Response, Error> {
        if request.method() == Method::GET {
            return self.ours_first(request, next).await;
        }
        let known = match Request::get(format!("/task/{id}")).body(Body::empty()) {
            Ok(question) => next.clone().run(question).await.status() != StatusCode::NOT_FOUND,
            Err(_) => false,
        };
        if known { Ok(next.run(request).await) } else { self.pass(request).await }
    }

    async fn ours_first(&self, request: Request, next: Next) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let body = whole(body, parts.uri.path()).await?;
        let ours = next.run(Request::from_parts(parts.clone(), Body::from(body.clone()))).await;
        let reads = parts.method == Method::GET;
        let request = Request::from_parts(parts, Body::from(body));
        match ours.status() {
            StatusCode::NOT_FOUND => self.pass(request).await,
            // What they know does not depend on how we are.
            status if status.is_server_error() && reads => {
                let theirs = self.passed(request).await.ok().filter(|theirs| theirs.status().is_success());
                Ok(theirs.unwrap_or(ours))
            }
            _ => Ok(ours),
        }
    }

    async fn operations(&self, form: &Operations, request: Request, next: Next) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let body = whole(body, parts.uri.path()).await?;
        let asked = Asked::read(form, &body);
        let mut ours = HashSet::new();
        for account in asked.iter().filter_map(|asked| asked.account.as_deref()) {
            if self.is_ours(account).await? {
                ours.insert(account);
            }
        }
        let doer = Doer::of(&asked, |account| ours.contains(account));
        let request = Request::from_parts(parts, Body::from(body));
        match doer {
            Doer::Us => Ok(next.run(request).await),
            Doer::Them => self.pass(request).await,
            Doer::Nobody { ours, theirs } => Err(Error::from(Refusal::invalid_request(format!(
                "the operations of a request are one task, but {} of this hub and {} of the Clouddriver behind it; \
                 send them in requests of their own",
                are(ours),
                are(theirs)
            )))),
        }
    }

    async fn merged(&self, list: List, request: Request, next: Next) -> Result<Response, Error> {
        let (mut parts, body) = request.into_parts();
        let theirs = bare(parts.clone());
        // The tag of a merged answer is that of neither.
        let known = parts.headers.remove(header::IF_NONE_MATCH);
        let question = Question::of(&parts);
        let ours = async { Ours::of(next.run(Request::from_parts(parts, body)).await).await };
        if list == List::Health {
            // Whether we are well does not depend on them, nor on how long they take to say how they are.
            let patience = HEALTH.min(self.upstream.merge_timeout);
            let (ours, theirs) = tokio::join!(ours, self.upstream.client.ask(theirs, patience));
            return Ok(ours.with_health(theirs));
        }
        let (mut ours, part) = tokio::join!(ours, self.part(list, &question, theirs));
        let accounts = self.accounts.all().await?;
        let names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
        let is_theirs =
            |account: &str| names.binary_search(&account).is_err() && self.upstream.serves_account(account);
        let owners = Owners { ours: &names, is_theirs: &is_theirs };
        let (memory, now) = (&self.upstream.memory, Instant::now());
        if let Some(said) = ours.said().filter(|_| list.is_polled()) {
            memory.remember(Side::Ours, &question, said, now);
        } else if ours.has_failed()
            && let Some(said) = memory.recall(Side::Ours, &question, now)
        {
            ours = ours.recalled(said, owners);
        }
        let joined = ours.joined(list, part, owners).map_err(|silence| failure(&silence))?;
        let is_whole = joined.status() == StatusCode::OK;
        Ok(if is_whole { tagged(joined, known.as_ref()).await } else { joined })
    }

    /// The Clouddriver's part of a list.
    async fn part(&self, list: List, question: &Question, request: Request) -> Part {
        let Upstream { client, conditions, memory, merge_timeout, .. } = &self.upstream;
        let path = request.uri().path().to_owned();
        let asked = Instant::now();
        let remembered = || memory.recall(Side::Theirs, question, Instant::now());
        let missing = |why: Silence| Part::Missing { why, remembered: remembered() };
        if let Some(why) = conditions.pause(&path, asked) {
            return missing(why);
        }
        let said = match client.ask(request, *merge_timeout).await {
            Ok(said) => said,
            Err(why) => {
                if why.is_absence() {
                    conditions.silent(&path, &why, asked, Instant::now());
                }
                return missing(why);
            }
        };
        conditions.answered(&path, Instant::now());
        match said.status {
            StatusCode::OK => {
                if let Some(why) = said.unreadable() {
                    return missing(why);
                }
                if list.is_polled() {
                    memory.remember(Side::Theirs, question, &said.body, Instant::now());
                }
                Part::Said(said)
            }
            StatusCode::NOT_FOUND => Part::NotFound,
            _ => Part::Refused { said, remembered: remembered() },
        }
    }
}

/// The same question without its body.
fn bare(mut parts: request::Parts) -> Request {
    for name in OF_A_BODY {
        parts.headers.remove(name);
    }
    Request::from_parts(parts, Body::empty())
}

// === impl Question ===

impl Question {
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

fn failure(silence: &Silence) -> Error {
    let refusal = match silence {
        Silence::Slow(_) => Refusal::gateway_timeout(silence.to_string()),
        Silence::Down(_) | Silence::Useless(_) => Refusal::bad_gateway(silence.to_string()),
    };
    refusal.into()
}
