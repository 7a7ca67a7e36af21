//! One scope: listed once, then watched for good, whatever happens in between.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::StreamExt;
use spindrift_kubernetes::{
    ApiError, Event, EventStream, ListStart, RawObject, Status, WatchStart, WatchTarget,
};
use spindrift_model::{Generation, Item, Resource, ResourceVersion, ResumePoint, Scope, ScopeId, Upsert};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use super::Shared;
use crate::board::WatchState;

/// API servers end watches after some minutes anyway; shorter than most proxies' patience.
const WATCH_TIMEOUT: Duration = Duration::from_secs(290);
/// A listing may take long on a large cluster behind a slow link; if it is cut short, all of it is to do again.
const LIST_TIMEOUT: Duration = Duration::from_hours(1);
/// After this many streamed listings that did not come to their end, the scope is listed in pages.
const UNFINISHED_LISTINGS: u32 = 2;
/// A stream that closes sooner and tells nothing is no watch; whoever keeps doing that is given time.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// A watch that fails is taken up again at this pace.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(200),
    multiplier: 2.0,
    jitter: 0.3,
    max: Duration::from_secs(30),
};
/// What is forbidden is asked for again this rarely.
const DENIED_RETRY: Duration = Duration::from_mins(5);
/// Bookmarks come every minute; the store need not hear of each, only often enough for resume points to stay young.
const PROGRESS_INTERVAL: Duration = Duration::from_mins(2);
/// Objects of one page, where lists cannot be streamed.
const PAGE_SIZE: u32 = 250;
/// After this many listings in a row with events that cannot be read, one is taken as it is: the object that is
/// missing then is visible as a problem, and all others are live again.
const SPOILT_LISTINGS: u32 = 3;

/// Where the scope stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Everything has to be told, with nothing older than what was told before.
    List { not_older_than: Option<ResourceVersion> },
    /// What changes after this version has to be told.
    Watch { from: ResourceVersion },
}

/// Why a listing or a watch came to its end.
enum Ended {
    /// The API server closed it in good order; go on.
    Closed,
    /// The version is too old: list again.
    Gone,
    /// The version is from the future: the cluster's own store was set back.
    Ahead,
    /// Something arrived that could not be read: what it said is lost, so list again.
    Spoilt,
    /// It failed.
    Failed(ApiError),
    /// The API server said why.
    Refused(Status),
}

pub(super) struct ScopeWatch {
    shared: Arc<Shared>,
    id: ScopeId,
    scope: Scope,
    target: WatchTarget,
    state: State,
    generation: Generation,
    backoff: Backoff,
    unfinished: u32,
    spoilt: u32,
    progress_sent: Instant,
}

// === impl Ended ===

impl Ended {
    /// The same word for the same thing, whether it came as an answer or as an event.
    fn classified(self) -> Self {
        match self {
            Self::Failed(error) if error.is_gone() => Self::Gone,
            Self::Failed(error) if error.is_too_large_resource_version() => Self::Ahead,
            Self::Refused(status) if status.is_too_large_resource_version() => Self::Ahead,
            other => other,
        }
    }
}

// === impl ScopeWatch ===

impl ScopeWatch {
    pub(super) fn new(
        shared: Arc<Shared>,
        id: ScopeId,
        scope: Scope,
        resource: Resource,
        resume: Option<ResumePoint>,
    ) -> Self {
        let oldest = shared.account.config.max_resumable_age();
        let target = shared.account.target(resource, scope.namespace.clone());
        // What was sent under other rules has to be sent again.
        let revision = target.scrub_revision();
        let state = match resume {
            Some(point) if point.api_version != target.resource.version => {
                State::List { not_older_than: None }
            }
            Some(point) if point.scrub_revision == revision && point.age <= oldest => {
                State::Watch { from: point.resource_version }
            }
            Some(point) => State::List { not_older_than: Some(point.resource_version) },
            None => State::List { not_older_than: None },
        };
        Self {
            shared,
            id,
            scope,
            target,
            state,
            generation: Generation(0),
            backoff: Backoff::new(RETRY),
            unfinished: 0,
            spoilt: 0,
            progress_sent: Instant::now(),
        }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let (started, before) = (Instant::now(), self.state.clone());
            let ended = match before.clone() {
                State::List { not_older_than } => self.list(not_older_than).await,
                State::Watch { from } => self.watch(from).await,
            };
            if matches!(ended, Ended::Closed) && self.state == before && started.elapsed() < SHORT_LIFE {
                sleep(self.backoff.next()).await;
            }
            self.recover(ended.classified()).await;
        }
    }

    async fn list(&mut self, not_older_than: Option<ResourceVersion>) -> Ended {
        self.show(WatchState::Listing, None);
        self.shared.metrics.listings.inc();
        self.shared.metrics.kubernetes_requests.inc();
        let api = &self.shared.account.api;
        let paged = self.shared.account.paged_lists_only.load(Ordering::Relaxed);
        if paged || self.unfinished >= UNFINISHED_LISTINGS {
            let events = api.list(&self.target, ListStart { not_older_than, page_size: PAGE_SIZE });
            return self.follow(events).await;
        }
        let start = WatchStart::InitialEvents { not_older_than };
        match api.watch(&self.target, start, LIST_TIMEOUT).await {
            Ok(events) => self.follow(events).await,
            Err(error) if error.is_unsupported_streaming_list() => {
                info!(account = %self.shared.account.description.name, "the API server cannot stream lists; they are paged");
                self.shared.account.paged_lists_only.store(true, Ordering::Relaxed);
                Ended::Closed
            }
            Err(error) => Ended::Failed(error),
        }
    }

    async fn watch(&mut self, from: ResourceVersion) -> Ended {
        let api = &self.shared.account.api;
        self.shared.metrics.kubernetes_requests.inc_by(2);
        // A watch from a version in the future is accepted and stays silent, so it has to be asked beforehand.
        match api.has_reached(&self.target, &from).await {
            Ok(true) => {}
            Ok(false) => return Ended::Ahead,
            Err(error) => return Ended::Failed(error),
        }
        match api.watch(&self.target, WatchStart::Resume(from), WATCH_TIMEOUT).await {
            Ok(events) => {
                self.show(WatchState::Watching, None);
                self.follow(events).await
            }
            Err(error) => Ended::Failed(error),
        }
    }

    /// Passes on what a stream tells. A listing becomes a watch at the bookmark that ends it.
    async fn follow(&mut self, mut events: EventStream) -> Ended {
        // Nothing is begun before the first word: a listing that is refused leaves the hub's resume point alone.
        let mut begun = false;
        let mut held_back = 0;
        loop {
            let event = events.next().await;
            self.shared.metrics.scrubbed_values.inc_by(events.held_back() - held_back);
            held_back = events.held_back();
            let event = match event {
                None => return Ended::Closed,
                Some(Err(error)) => return Ended::Failed(error),
                Some(Ok(event)) => event,
            };
            if self.is_listing() && !begun && !matches!(event, Event::Error(_)) {
                begun = true;
                self.generation = self.generation.next();
                // Should it break off: what was told by then must not become older, so only the newest state will do.
                self.state = State::List { not_older_than: None };
                self.send(Item::Begin { scope: self.id, generation: self.generation }).await;
            }
            match event {
                Event::Object(object) => self.upsert(object).await,
                Event::Deleted(object) => self.delete(object).await,
                Event::Bookmark { resource_version, initial_events_end } => {
                    self.bookmark(resource_version, initial_events_end).await;
                }
                Event::Unparseable { error, bytes } => {
                    self.unreadable(&error, bytes);
                    if !self.is_listing() || self.spoilt < SPOILT_LISTINGS {
                        return Ended::Spoilt;
                    }
                }
                Event::Error(status) if status.is_gone() => return Ended::Gone,
                Event::Error(status) => return Ended::Refused(status),
            }
        }
    }

    async fn upsert(&mut self, object: RawObject) {
        let RawObject { namespace, name, uid, resource_version, body } = object;
        // A CRD that came, went or changed changes what there is to watch.
        if &*self.scope.kind == "CustomResourceDefinition" {
            self.shared.rediscover.notify_one();
        }
        self.reached(&resource_version);
        self.send(Item::Upsert(Upsert { scope: self.id, namespace, name, uid, resource_version, body }))
            .await;
    }

    async fn delete(&mut self, object: RawObject) {
        let RawObject { namespace, name, uid, resource_version, body: _ } = object;
        if &*self.scope.kind == "CustomResourceDefinition" {
            self.shared.rediscover.notify_one();
        }
        self.reached(&resource_version);
        self.send(Item::Delete { scope: self.id, namespace, name, uid, resource_version }).await;
    }

    async fn bookmark(&mut self, resource_version: ResourceVersion, initial_events_end: bool) {
        if self.is_listing() {
            if initial_events_end {
                let generation = self.generation;
                self.send(Item::End {
                    scope: self.id,
                    generation,
                    resource_version: resource_version.clone(),
                })
                .await;
                self.state = State::Watch { from: resource_version };
                self.unfinished = 0;
                self.spoilt = 0;
                self.backoff.reset();
                self.show(WatchState::Watching, None);
            }
            return;
        }
        let moved = self.state != State::Watch { from: resource_version.clone() };
        self.reached(&resource_version);
        if moved && self.progress_sent.elapsed() >= PROGRESS_INTERVAL {
            self.progress_sent = Instant::now();
            self.send(Item::Progress { scope: self.id, resource_version }).await;
        }
    }

    /// A watch goes on from here if it breaks.
    fn reached(&mut self, resource_version: &ResourceVersion) {
        if let State::Watch { from } = &mut self.state {
            *from = resource_version.clone();
            self.backoff.reset();
        }
    }

    /// Chooses the next state, and waits as long as it takes to be polite.
    async fn recover(&mut self, ended: Ended) {
        let account = &self.shared.account.description.name;
        match ended {
            Ended::Closed => self.unfinished += u32::from(self.is_listing()),
            Ended::Gone => {
                debug!(%account, scope = %self.scope, "too old resource version: the scope is listed again");
                self.state = self.relist();
            }
            Ended::Spoilt => {
                self.spoilt += 1;
                self.state = State::List { not_older_than: None };
                self.wait(self.backoff.clone().next(), "an event could not be read".into()).await;
                self.backoff.next();
            }
            Ended::Refused(status) => self.fail(status.retry_after, report(&status)).await,
            Ended::Ahead => {
                // Versions that the hub knows mean nothing any more.
                info!(%account, scope = %self.scope, "resource versions went backwards; the scope is listed again");
                self.state = State::List { not_older_than: None };
                sleep(self.backoff.next()).await;
            }
            Ended::Failed(error) if error.is_forbidden() => {
                let reason = report(&error);
                warn!(%account, scope = %self.scope, error = reason, "not allowed to list and watch");
                self.shared.board.problem(account, format!("{}: {reason}", self.scope));
                self.show(WatchState::Denied, Some(reason));
                sleep(DENIED_RETRY).await;
            }
            Ended::Failed(error) => {
                if error.is_not_found() {
                    self.shared.rediscover.notify_one();
                }
                self.fail(error.retry_after(), report(&error)).await;
            }
        }
    }

    /// The state after a 410: what was told before must not become older.
    fn relist(&self) -> State {
        let not_older_than = match &self.state {
            State::Watch { from } => Some(from.clone()),
            // A listing that is too old itself cannot be bounded by a version.
            State::List { .. } => None,
        };
        State::List { not_older_than }
    }

    async fn fail(&mut self, retry_after: Option<Duration>, reason: String) {
        let pause = self.backoff.next().max(retry_after.unwrap_or_default());
        debug!(account = %self.shared.account.description.name, scope = %self.scope, error = reason, retry_in = ?pause, "watch failed");
        self.wait(pause, reason).await;
    }

    async fn wait(&self, pause: Duration, reason: String) {
        self.show(WatchState::Waiting, Some(reason));
        sleep(pause).await;
    }

    fn unreadable(&self, error: &str, bytes: usize) {
        let account = &self.shared.account.description.name;
        warn!(%account, scope = %self.scope, error, bytes, "an event could not be read");
        self.shared.metrics.unparseable_events.inc();
        self.shared.board.unparseable(account);
        self.shared.board.problem(
            account,
            format!("{}: an event of {bytes} bytes could not be read: {error}", self.scope),
        );
    }

    fn is_listing(&self) -> bool {
        matches!(self.state, State::List { .. })
    }

    fn show(&self, state: WatchState, error: Option<String>) {
        self.shared.board.watch(&self.shared.account.description.name, &self.scope, state, error);
    }

    async fn send(&self, item: Item) {
        self.shared.metrics.sent(&self.target.resource, &item);
        self.shared.outlet.send(item).await;
    }
}
