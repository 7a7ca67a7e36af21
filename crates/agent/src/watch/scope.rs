//! One scope: listed once, then watched for good, whatever happens in between.
//!
//! What it does is a [`State`]; each step of [`ScopeWatch::run`] does it and gives the next. What follows when something
//! ends is decided in `state.rs`, how it is told to the hub in `tell.rs`.

mod report;
mod state;

use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::StreamExt;
use spindrift_kubernetes::{ApiError, Event, EventStream, ListStart, WatchStart, WatchTarget};
use spindrift_model::{ResourceVersion, ResumePoint, Scope, ScopeId, ScrubRevision};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use self::{
    report::Teller,
    state::{Ended, Patience, Position, State, Unlisted},
};
use super::{
    Shared, budget::Turn, filter::NamespaceFilter, quota::Quota, selection::Chosen, synthetic::StandIns,
};
use crate::{accounts::Account, metrics::Relist, status::WatchState};

/// API servers end watches after some minutes anyway; shorter than most proxies' patience. Spread, so that watches
/// that began together do not end together.
const WATCH_TIMEOUT: std::ops::Range<u64> = 240..290;
/// A listing may take long on a large cluster behind a slow link; if it is cut short, all of it is to do again.
const LIST_TIMEOUT: Duration = Duration::from_hours(1);
/// Within a listing a server has always something to say.
const LIST_SILENCE: Duration = Duration::from_secs(30);
/// A stream that closes sooner and tells nothing is no watch; whoever keeps doing that is given time.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// Objects of one page, where lists cannot be streamed.
const PAGE_SIZE: u32 = 250;

pub(super) struct ScopeWatch {
    shared: Arc<Shared>,
    scope: Scope,
    target: WatchTarget,
    tell: Teller,
    patience: Patience,
    /// Whether it is read at all, or only what stands in for it is told.
    read: bool,
    /// What is told while it may not be read.
    stand_ins: Option<StandIns>,
    begin: Position,
}

/// What it takes to watch a scope.
pub(super) struct ScopePlan {
    pub(super) id: ScopeId,
    pub(super) scope: Scope,
    pub(super) chosen: Chosen,
    pub(super) target: WatchTarget,
    pub(super) filter: NamespaceFilter,
    pub(super) quota: Option<Arc<Quota>>,
    pub(super) scrub_revision: ScrubRevision,
    pub(super) resume: Option<ResumePoint>,
}

// === impl ScopeWatch ===

impl ScopeWatch {
    pub(super) fn new(shared: Arc<Shared>, plan: ScopePlan) -> Self {
        let begin = position(&shared, &plan);
        let Account { permissions, pace, .. } = &*shared.account;
        let was_read = match permissions.denial(&plan.scope) {
            Some(_) => false,
            None => matches!(begin, Position::UpTo(_)) || permissions.was_read(&plan.scope),
        };
        let patience = Patience::new(was_read, pace.denied_retry);
        let ScopePlan { id, scope, chosen, target, filter, quota, .. } = plan;
        let Chosen { resource, read, stand_ins, .. } = chosen;
        let tell = Teller::new(shared.clone(), id, scope.clone(), resource, filter, quota);
        Self { shared, scope, target, tell, patience, read, stand_ins, begin }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) -> Infallible {
        if !self.read {
            return self.stand_in().await;
        }
        let denial = self.shared.account.permissions.denial(&self.scope);
        let begin = self.begin.clone();
        let mut state = match denial {
            Some(denial) => State::Denied { reason: denial.reason, then: begin },
            None => begin.go_on(),
        };
        loop {
            self.show(&state);
            state = match state {
                State::Queued(unlisted) => {
                    let turn = self.shared.account.budget.turn().await;
                    State::Listing(unlisted, turn)
                }
                State::Listing(unlisted, turn) => self.list(unlisted, turn).await,
                State::Resuming(version) => self.resume(version).await,
                State::Watching(version, events) => self.watch(version, events).await,
                State::Denied { reason, then } => self.denied(reason, then).await,
                State::Waiting { pause, then, .. } => {
                    sleep(pause).await;
                    then.go_on()
                }
            };
        }
    }

    /// Tells what stands in for the scope; that never changes.
    async fn stand_in(&mut self) -> Infallible {
        if let Some(stand_ins) = &self.stand_ins {
            self.tell.stand_ins(stand_ins).await;
        }
        self.show_as(WatchState::Watching, None);
        std::future::pending().await
    }

    /// Tells everything there is. A streamed listing goes over into a watch at the bookmark that ends it.
    async fn list(&mut self, mut unlisted: Unlisted, _turn: Turn) -> State {
        self.shared.metrics.listed(unlisted.why);
        self.shared.metrics.kubernetes_requests.inc();
        let paged =
            self.shared.account.paged_lists_only.load(Ordering::Relaxed) || self.patience.prefers_pages();
        match self.list_all(&mut unlisted, paged).await {
            Ok((version, _)) if paged => State::Resuming(version),
            Ok((version, events)) => State::Watching(version, events),
            Err(ended) => {
                if matches!(ended, Ended::NotStreamed) {
                    info!(account = %self.shared.account.description.name, "the API server cannot stream lists; they are paged");
                    self.shared.account.paged_lists_only.store(true, Ordering::Relaxed);
                }
                self.ended(Position::Nothing(unlisted), ended)
            }
        }
    }

    async fn list_all(
        &mut self,
        unlisted: &mut Unlisted,
        paged: bool,
    ) -> Result<(ResourceVersion, EventStream), Ended> {
        let api = &self.shared.account.api;
        let not_older_than = unlisted.not_older_than.clone();
        let mut events = if paged {
            api.list(&self.target, ListStart { not_older_than, page_size: PAGE_SIZE })
        } else {
            let start = WatchStart::InitialEvents { not_older_than };
            api.watch(&self.target, start, LIST_TIMEOUT).await.map_err(|error| self.failed(&error))?
        };
        // Nothing is begun before the first word: a listing that is refused leaves the hub's resume point alone.
        unlisted.begun = false;
        let mut spoilt = false;
        let mut objects = 0_u64;
        loop {
            let event = self.next(&mut events, LIST_SILENCE.min(self.shared.account.pace.silence)).await?;
            if !unlisted.begun {
                unlisted.begun = true;
                // Should it break off: what was told by then must not become older, so only the newest state will do.
                unlisted.not_older_than = None;
                self.tell.begin().await;
            }
            match event {
                Event::Object(object) => {
                    objects += 1;
                    self.tell.upsert(object).await;
                }
                Event::Deleted(object) => self.tell.delete(object).await,
                Event::Bookmark { resource_version, initial_events_end: true } => {
                    info!(account = %self.shared.account.description.name, scope = %self.scope,
                        "Watcher: full kind recache with {objects} objects");
                    self.tell.end(resource_version.clone()).await;
                    self.patience.listed(spoilt);
                    return Ok((resource_version, events));
                }
                // Servers before 1.27 that take the question for an ordinary watch never say that they have told all.
                Event::Bookmark { initial_events_end: false, .. } => return Err(Ended::NotStreamed),
                Event::Unparseable { error, bytes } => {
                    self.tell.unreadable(&error, bytes);
                    if !self.patience.bears_spoilt() {
                        return Err(Ended::Spoilt);
                    }
                    spoilt = true;
                }
                Event::Error(status) => return Err(Ended::from(&status)),
            }
        }
    }

    /// Asks the API server to go on after a version.
    async fn resume(&mut self, version: ResourceVersion) -> State {
        let api = &self.shared.account.api;
        self.shared.metrics.kubernetes_requests.inc_by(2);
        let limit = Duration::from_secs(fastrand::u64(WATCH_TIMEOUT));
        let opened = async {
            // A watch from a version in the future is accepted and stays silent, so it has to be asked beforehand.
            if !api.has_reached(&self.target, &version).await.map_err(|error| self.failed(&error))? {
                return Err(Ended::Ahead);
            }
            let start = WatchStart::Resume(version.clone());
            api.watch(&self.target, start, limit).await.map_err(|error| self.failed(&error))
        };
        match opened.await {
            Ok(events) => State::Watching(version, events),
            Err(ended) => self.ended(Position::UpTo(version), ended),
        }
    }

    /// Tells what changes, until the stream ends.
    async fn watch(&mut self, mut version: ResourceVersion, mut events: EventStream) -> State {
        let (started, began_at) = (Instant::now(), version.clone());
        self.shared.account.permissions.read(&self.scope);
        self.patience.admitted();
        let ended = loop {
            match self.next(&mut events, self.shared.account.pace.silence).await {
                Ok(Event::Object(object)) => {
                    version = object.resource_version.clone();
                    self.tell.upsert(object).await;
                }
                Ok(Event::Deleted(object)) => {
                    version = object.resource_version.clone();
                    self.tell.delete(object).await;
                }
                Ok(Event::Bookmark { resource_version, .. }) => {
                    let moved = resource_version != version;
                    version = resource_version;
                    if moved {
                        self.tell.progress(&version).await;
                    }
                }
                Ok(Event::Unparseable { error, bytes }) => {
                    self.tell.unreadable(&error, bytes);
                    // Where something can never be read, listing all the rest again would not help.
                    if !self.patience.bears_spoilt() {
                        break Ended::Spoilt;
                    }
                }
                Ok(Event::Error(status)) => break Ended::from(&status),
                Err(ended) => break ended,
            }
            self.patience.heard();
        };
        self.patience.lived(started.elapsed());
        let at_once = version == began_at && started.elapsed() < SHORT_LIFE;
        let ended = if at_once && matches!(ended, Ended::Closed) { Ended::ClosedAtOnce } else { ended };
        self.ended(Position::UpTo(version), ended)
    }

    /// Shows that it may not be read, and asks again from time to time.
    async fn denied(&mut self, reason: String, then: Position) -> State {
        let account = self.shared.account.clone();
        let permissions = &account.permissions;
        if permissions.denial(&self.scope).is_none() {
            permissions.deny(&self.scope, reason.clone());
        }
        if permissions.is_news(&self.scope) {
            warn!(account = %account.description.name, scope = %self.scope, error = reason, "not allowed to list and watch");
            self.shared.board.problem(&account.description.name, format!("{}: {reason}", self.scope));
        }
        self.shared.redeclare.notify_one();
        let then = match &self.stand_ins {
            Some(stand_ins) => {
                self.tell.stand_ins(stand_ins).await;
                Position::Nothing(Unlisted::because(Relist::Allowed))
            }
            None => then,
        };
        while let Some(denial) = permissions.denial(&self.scope) {
            sleep_until(denial.asked + account.pace.denied_retry).await;
            if permissions.may_be_allowed(&account.api, &self.scope, &self.target.resource).await {
                break;
            }
        }
        debug!(account = %account.description.name, scope = %self.scope, "it may be allowed to list and watch by now");
        permissions.allow(&self.scope);
        self.shared.redeclare.notify_one();
        then.go_on()
    }

    /// The next event; nothing is read ahead of it.
    async fn next(&self, events: &mut EventStream, patience: Duration) -> Result<Event, Ended> {
        let removed_values = events.removed_values();
        let next = timeout(patience, events.next()).await;
        self.shared.metrics.scrubbed_values.inc_by(events.removed_values() - removed_values);
        match next {
            Err(_) => Err(Ended::Silent),
            Ok(None) => Err(Ended::Closed),
            Ok(Some(Err(error))) => Err(self.failed(&error)),
            Ok(Some(Ok(Event::Error(status)))) => Err(Ended::from(&status)),
            Ok(Some(Ok(event))) => Ok(event),
        }
    }

    fn failed(&self, error: &ApiError) -> Ended {
        // The kind may be gone: whoever knows what is served will end this watch.
        if error.is_not_found() {
            self.shared.rediscover.notify_one();
        }
        Ended::from(error)
    }

    fn ended(&mut self, position: Position, ended: Ended) -> State {
        let (account, scope) = (&self.shared.account.description.name, &self.scope);
        match &ended {
            Ended::Failed { reason, .. } => debug!(%account, %scope, error = reason, "watch failed"),
            ended => debug!(%account, %scope, ?ended, "watch ended"),
        }
        if let (Position::UpTo(_), Ended::Silent) = (&position, &ended) {
            self.shared.metrics.frozen_watches.inc();
        }
        self.patience.next(position, ended)
    }

    fn show(&self, state: &State) {
        let (state, error) = match state {
            State::Queued(_) => (WatchState::Queued, None),
            State::Listing(..) => (WatchState::Listing, None),
            State::Resuming(_) => (WatchState::Resuming, None),
            State::Watching(..) => (WatchState::Watching, None),
            State::Denied { reason, .. } => (WatchState::Denied, Some(reason.clone())),
            State::Waiting { reason, .. } => (WatchState::Waiting, Some(reason.clone())),
        };
        self.show_as(state, error);
    }

    fn show_as(&self, state: WatchState, error: Option<String>) {
        self.shared.board.watch(&self.shared.account.description.name, &self.scope, state, error);
    }
}

/// Where a scope is taken up, by what the hub has of it.
fn position(shared: &Shared, plan: &ScopePlan) -> Position {
    let oldest = shared.account.config.max_resumable_age();
    let unlisted = match plan.resume.clone() {
        None => Unlisted::because(Relist::First),
        Some(point) if StandIns::is_version(&point.resource_version) => Unlisted::because(Relist::Allowed),
        // Objects of another version are other bytes, whatever their resource versions say.
        Some(point) if point.api_version != plan.target.resource.version => {
            Unlisted::because(Relist::Changed)
        }
        Some(point) if point.scrub_revision != plan.scrub_revision => {
            Unlisted::after(point.resource_version, Relist::Changed)
        }
        Some(point) if point.age > oldest => Unlisted::after(point.resource_version, Relist::Expired),
        Some(point) => return Position::UpTo(point.resource_version),
    };
    Position::Nothing(unlisted)
}
