//! One scope: listed once, then watched, and resumed or listed again after every failure.
//!
//! Each step of [`ScopeWatch::run`] carries out a [`ScopeState`] and returns the next. `state.rs` decides which state follows
//! when a stream ends; `report.rs` sends the items to the hub.

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
    report::ScopeReporter,
    state::{Position, RetryPolicy, ScopeState, StreamEnd, Unlisted},
};
use super::{
    EngineContext, budget::ListPermit, filter::ObjectFilter, quota::Quota, selection::SelectedScope,
    synthetic::SyntheticObjects,
};
use crate::{accounts::Account, metrics::Relist, status::WatchState};

/// Seconds after which the API server is asked to end a watch: it would do so after some minutes anyway, and most proxies
/// have longer timeouts. Spread, so that watches that began together do not end together.
const WATCH_TIMEOUT: std::ops::Range<u64> = 240..290;
/// Deadline of a list: it may take long on a large cluster behind a slow link, and has to start over if it is cut short.
const LIST_TIMEOUT: Duration = Duration::from_hours(1);
/// Longest pause within a list, where a server always has something to send.
const LIST_SILENCE: Duration = Duration::from_secs(30);
/// A stream that closes sooner and without an event counts as a failure, so that it is retried with backoff.
const SHORT_STREAM: Duration = Duration::from_secs(1);
/// Objects of one page, if lists cannot be streamed.
const PAGE_SIZE: u32 = 250;

pub(super) struct ScopeWatch {
    context: Arc<EngineContext>,
    scope: Scope,
    target: WatchTarget,
    reporter: ScopeReporter,
    retry: RetryPolicy,
    /// Unset if only synthetic objects are reported for the scope.
    read: bool,
    /// Objects that are reported while the scope is forbidden.
    synthetic: Option<SyntheticObjects>,
    begin: Position,
}

/// Parameters of a scope's watch.
pub(super) struct ScopePlan {
    pub(super) id: ScopeId,
    pub(super) scope: Scope,
    pub(super) selected: SelectedScope,
    pub(super) target: WatchTarget,
    pub(super) filter: ObjectFilter,
    pub(super) quota: Option<Arc<Quota>>,
    pub(super) scrub_revision: ScrubRevision,
    pub(super) resume: Option<ResumePoint>,
}

// === impl ScopeWatch ===

impl ScopeWatch {
    pub(super) fn new(context: Arc<EngineContext>, plan: ScopePlan) -> Self {
        let begin = position(&context, &plan);
        let Account { permissions, timeouts, .. } = &*context.account;
        let was_read = match permissions.denial(&plan.scope) {
            Some(_) => false,
            None => matches!(begin, Position::UpTo(_)) || permissions.was_read(&plan.scope),
        };
        let retry = RetryPolicy::new(was_read, timeouts.denied_retry);
        let ScopePlan { id, scope, selected, target, filter, quota, .. } = plan;
        let SelectedScope { resource, read, synthetic, .. } = selected;
        let reporter = ScopeReporter::new(context.clone(), id, scope.clone(), resource, filter, quota);
        Self { context, scope, target, reporter, retry, read, synthetic, begin }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) -> Infallible {
        if !self.read {
            return self.report_synthetic().await;
        }
        let denial = self.context.account.permissions.denial(&self.scope);
        let begin = self.begin.clone();
        let mut state = match denial {
            Some(denial) => ScopeState::Denied { reason: denial.reason, then: begin },
            None => begin.start(),
        };
        loop {
            self.show(&state);
            state = match state {
                ScopeState::Queued(unlisted) => {
                    let permit = self.context.account.budget.list_permit().await;
                    ScopeState::Listing(unlisted, permit)
                }
                ScopeState::Listing(unlisted, permit) => self.list(unlisted, permit).await,
                ScopeState::Resuming(version) => self.resume(version).await,
                ScopeState::Watching(version, events) => self.watch(version, events).await,
                ScopeState::Denied { reason, then } => self.denied(reason, then).await,
                ScopeState::Waiting { pause, then, .. } => {
                    sleep(pause).await;
                    then.start()
                }
            };
        }
    }

    /// Reports the synthetic objects of the scope, which never change.
    async fn report_synthetic(&mut self) -> Infallible {
        if let Some(synthetic) = &self.synthetic {
            self.reporter.report_synthetic(synthetic).await;
        }
        self.show_as(WatchState::Watching, None);
        std::future::pending().await
    }

    /// Reports all objects. A streamed list becomes a watch at the bookmark that ends it.
    async fn list(&mut self, mut unlisted: Unlisted, _permit: ListPermit) -> ScopeState {
        self.context.metrics.listed(unlisted.why);
        self.context.metrics.kubernetes_requests.inc();
        let paged =
            self.context.account.paged_lists_only.load(Ordering::Relaxed) || self.retry.prefers_pages();
        match self.list_all(&mut unlisted, paged).await {
            Ok((version, _)) if paged => ScopeState::Resuming(version),
            Ok((version, events)) => ScopeState::Watching(version, events),
            Err(ended) => {
                if matches!(ended, StreamEnd::NotStreamed) {
                    info!(account = %self.context.account.description.name, "the API server cannot stream lists; listing in pages");
                    self.context.account.paged_lists_only.store(true, Ordering::Relaxed);
                }
                self.ended(Position::Nothing(unlisted), ended)
            }
        }
    }

    async fn list_all(
        &mut self,
        unlisted: &mut Unlisted,
        paged: bool,
    ) -> Result<(ResourceVersion, EventStream), StreamEnd> {
        let api = &self.context.account.api;
        let not_older_than = unlisted.not_older_than.clone();
        let mut events = if paged {
            api.list(&self.target, ListStart { not_older_than, page_size: PAGE_SIZE })
        } else {
            let start = WatchStart::InitialEvents { not_older_than };
            api.watch(&self.target, start, LIST_TIMEOUT).await.map_err(|error| self.failed(&error))?
        };
        // The list begins with the first event: one that is refused leaves the hub's resume point alone.
        unlisted.begun = false;
        let mut unparseable = false;
        let mut objects = 0_u64;
        loop {
            let event =
                self.next(&mut events, LIST_SILENCE.min(self.context.account.timeouts.silence)).await?;
            if !unlisted.begun {
                unlisted.begun = true;
                // Should it be interrupted: objects reported by then must not become older, so only the newest state will do.
                unlisted.not_older_than = None;
                self.reporter.begin().await;
            }
            match event {
                Event::Object(object) => {
                    objects += 1;
                    self.reporter.upsert(object).await;
                }
                Event::Deleted(object) => self.reporter.delete(object).await,
                Event::Bookmark { resource_version, initial_events_end: true } => {
                    info!(account = %self.context.account.description.name,
                        kind = &*self.scope.kind, group = &*self.scope.group, watchedNamespace = self.scope.watched_namespace(),
                        "Watcher: full kind recache with {objects} objects");
                    self.reporter.end(resource_version.clone()).await;
                    self.retry.listed(unparseable);
                    return Ok((resource_version, events));
                }
                // Servers before 1.27 treat the request as an ordinary watch and never mark the end of the list.
                Event::Bookmark { initial_events_end: false, .. } => return Err(StreamEnd::NotStreamed),
                Event::Unparseable { error, bytes } => {
                    self.reporter.unparseable(&error, bytes);
                    if !self.retry.tolerates_unparseable() {
                        return Err(StreamEnd::Unparseable);
                    }
                    unparseable = true;
                }
                Event::Error(status) => return Err(StreamEnd::from(&status)),
            }
        }
    }

    /// Opens a watch that resumes after a version.
    async fn resume(&mut self, version: ResourceVersion) -> ScopeState {
        let api = &self.context.account.api;
        self.context.metrics.kubernetes_requests.inc_by(2);
        let limit = Duration::from_secs(fastrand::u64(WATCH_TIMEOUT));
        let opened = async {
            // The API server accepts a watch from a version in the future and sends nothing, so it is checked beforehand.
            if !api.has_reached(&self.target, &version).await.map_err(|error| self.failed(&error))? {
                return Err(StreamEnd::Ahead);
            }
            let start = WatchStart::Resume(version.clone());
            api.watch(&self.target, start, limit).await.map_err(|error| self.failed(&error))
        };
        match opened.await {
            Ok(events) => ScopeState::Watching(version, events),
            Err(ended) => self.ended(Position::UpTo(version), ended),
        }
    }

    /// Reports changes until the stream ends.
    async fn watch(&mut self, mut version: ResourceVersion, mut events: EventStream) -> ScopeState {
        let (started, began_at) = (Instant::now(), version.clone());
        self.context.account.permissions.read(&self.scope);
        self.retry.allowed();
        let ended = loop {
            match self.next(&mut events, self.context.account.timeouts.silence).await {
                Ok(Event::Object(object)) => {
                    version = object.resource_version.clone();
                    self.reporter.upsert(object).await;
                }
                Ok(Event::Deleted(object)) => {
                    version = object.resource_version.clone();
                    self.reporter.delete(object).await;
                }
                Ok(Event::Bookmark { resource_version, .. }) => {
                    let moved = resource_version != version;
                    version = resource_version;
                    if moved {
                        self.reporter.progress(&version).await;
                    }
                }
                Ok(Event::Unparseable { error, bytes }) => {
                    self.reporter.unparseable(&error, bytes);
                    // If an object can never be parsed, listing all others again would not help.
                    if !self.retry.tolerates_unparseable() {
                        break StreamEnd::Unparseable;
                    }
                }
                Ok(Event::Error(status)) => break StreamEnd::from(&status),
                Err(ended) => break ended,
            }
            self.retry.received();
        };
        self.retry.streamed_for(started.elapsed());
        let at_once = version == began_at && started.elapsed() < SHORT_STREAM;
        let ended =
            if at_once && matches!(ended, StreamEnd::Closed) { StreamEnd::ClosedAtOnce } else { ended };
        self.ended(Position::UpTo(version), ended)
    }

    /// Reports that the scope is forbidden, and checks it from time to time.
    async fn denied(&mut self, reason: String, then: Position) -> ScopeState {
        let account = self.context.account.clone();
        let permissions = &account.permissions;
        if permissions.denial(&self.scope).is_none() {
            permissions.deny(&self.scope, reason.clone());
        }
        if permissions.is_unreported(&self.scope) {
            warn!(account = %account.description.name,
                kind = &*self.scope.kind, group = &*self.scope.group, watchedNamespace = self.scope.watched_namespace(),
                error = reason, "not allowed to list and watch");
            self.context.status.problem(&account.description.name, format!("{}: {reason}", self.scope));
        }
        self.context.redeclare.notify_one();
        let then = match &self.synthetic {
            Some(synthetic) => {
                self.reporter.report_synthetic(synthetic).await;
                Position::Nothing(Unlisted::because(Relist::Allowed))
            }
            None => then,
        };
        while let Some(denial) = permissions.denial(&self.scope) {
            sleep_until(denial.checked + account.timeouts.denied_retry).await;
            if permissions.may_be_allowed(&account.api, &self.scope, &self.target.resource).await {
                break;
            }
        }
        debug!(account = %account.description.name,
            kind = &*self.scope.kind, group = &*self.scope.group, watchedNamespace = self.scope.watched_namespace(),
            "the scope may be allowed by now");
        permissions.allow(&self.scope);
        self.context.redeclare.notify_one();
        then.start()
    }

    /// Returns the next event; nothing is read ahead of it.
    async fn next(&self, events: &mut EventStream, silence: Duration) -> Result<Event, StreamEnd> {
        let removed_values = events.removed_values();
        let next = timeout(silence, events.next()).await;
        self.context.metrics.scrubbed_values.inc_by(events.removed_values() - removed_values);
        match next {
            Err(_) => Err(StreamEnd::Silent),
            Ok(None) => Err(StreamEnd::Closed),
            Ok(Some(Err(error))) => Err(self.failed(&error)),
            Ok(Some(Ok(Event::Error(status)))) => Err(StreamEnd::from(&status)),
            Ok(Some(Ok(event))) => Ok(event),
        }
    }

    fn failed(&self, error: &ApiError) -> StreamEnd {
        // The kind may be gone: discovery then stops this watch.
        if error.is_not_found() {
            self.context.rediscover.notify_one();
        }
        StreamEnd::from(error)
    }

    fn ended(&mut self, position: Position, ended: StreamEnd) -> ScopeState {
        let (account, scope) = (&self.context.account.description.name, &self.scope);
        match &ended {
            StreamEnd::Failed { reason, .. } => {
                debug!(%account,
                    kind = &*scope.kind, group = &*scope.group, watchedNamespace = scope.watched_namespace(),
                    error = reason, "watch failed");
            }
            ended => {
                debug!(%account,
                    kind = &*scope.kind, group = &*scope.group, watchedNamespace = scope.watched_namespace(),
                    ?ended, "watch ended");
            }
        }
        if let (Position::UpTo(_), StreamEnd::Silent) = (&position, &ended) {
            self.context.metrics.frozen_watches.inc();
        }
        self.retry.next(position, ended)
    }

    fn show(&self, state: &ScopeState) {
        let (state, error) = match state {
            ScopeState::Queued(_) => (WatchState::Queued, None),
            ScopeState::Listing(..) => (WatchState::Listing, None),
            ScopeState::Resuming(_) => (WatchState::Resuming, None),
            ScopeState::Watching(..) => (WatchState::Watching, None),
            ScopeState::Denied { reason, .. } => (WatchState::Denied, Some(reason.clone())),
            ScopeState::Waiting { reason, .. } => (WatchState::Waiting, Some(reason.clone())),
        };
        self.show_as(state, error);
    }

    fn show_as(&self, state: WatchState, error: Option<String>) {
        self.context.status.watch(&self.context.account.description.name, &self.scope, state, error);
    }
}

/// Returns the position at which a scope starts, by the resume point of the hub.
fn position(context: &EngineContext, plan: &ScopePlan) -> Position {
    let oldest = context.account.config.max_resumable_age();
    let unlisted = match plan.resume.clone() {
        None => Unlisted::because(Relist::First),
        Some(point) if SyntheticObjects::is_version(&point.resource_version) => {
            Unlisted::because(Relist::Allowed)
        }
        // Objects of another API version are other bytes, also with the same resource version.
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
