//! State machine of a scope.
//!
//! ```text
//!      ┌────────────── 410, a restored store, an event that cannot be parsed ────────────┐
//!      ▼                                                                                 │
//! ──▶ Queued ──permit────▶ Listing ──complete──▶ Watching ◀──version is known── Resuming ┤ ◀──
//!      ▲                      │                     │                              ▲     │
//!      └──── interrupted ─────┘                     └─ closed, cut, silent ────────┘     │
//!                                                                                        │
//!      any of them ──403──▶ Denied ──allowed──▶ previous position  429, 5xx, no connection, a first 403, …
//!                                                                           └──▶ Waiting ──▶ previous position
//! ```

use std::time::Duration;

use spindrift_kubernetes::{ApiError, EventStream, Status};
use spindrift_model::ResourceVersion;
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use tokio::time::Instant;

use crate::{metrics::Relist, watch::budget::ListPermit};

/// Backoff of failed watches.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(200),
    multiplier: 2.0,
    jitter: 0.3,
    max: Duration::from_secs(30),
};
/// Number of streamed lists that did not complete after which the scope is listed in pages.
const UNFINISHED_LISTS: u32 = 2;
/// Number of lists in a row with unparseable events after which a list is accepted without them: the missing object is
/// reported as a problem, and all others are live again.
const UNPARSEABLE_LISTS: u32 = 3;
/// Duration after which a stream counts as healthy, even without an event.
const HEALTHY: Duration = Duration::from_secs(10);
/// Time for which a scope that was read before and is forbidden now is retried before it counts as denied: bindings are
/// deleted and re-created, and an API server that has just started has not loaded all of them yet.
const FORBIDDEN_GRACE: Duration = Duration::from_secs(90);

/// State of a scope.
pub(super) enum ScopeState {
    /// Waits for the permit to list.
    Queued(Unlisted),
    /// All objects are being reported.
    Listing(Unlisted, ListPermit),
    /// All changes up to this version were reported; a watch from there is being opened.
    Resuming(ResourceVersion),
    /// Changes after this version are reported as they come.
    Watching(ResourceVersion, EventStream),
    /// The credentials do not allow it. It is checked again, rarely.
    Denied { reason: String, then: Position },
    /// It failed, and is retried after a pause.
    Waiting { pause: Duration, reason: String, then: Position },
}

/// Part of the scope that was reported so far, from which it continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Position {
    /// Nothing, or nothing complete.
    Nothing(Unlisted),
    /// Everything up to this version.
    UpTo(ResourceVersion),
}

/// A scope that has to be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unlisted {
    /// Version of objects reported before, which must not become older.
    pub(super) not_older_than: Option<ResourceVersion>,
    /// Reason for the list.
    pub(super) why: Relist,
    /// Set once a part of the list was reported.
    pub(super) begun: bool,
}

/// Reason for which a list or a watch ended.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// The API server closed it regularly.
    Closed,
    /// The API server closed it at once, without an event.
    ClosedAtOnce,
    /// No byte arrived for longer than a healthy server would pause.
    Silent,
    /// The version is too old, or the continue token of a list has expired.
    Gone,
    /// The version is from the future: etcd was restored from a backup.
    Ahead,
    /// An event could not be parsed, and its change is lost.
    Unparseable,
    /// The server does not support lists by watch (`sendInitialEvents`).
    NotStreamed,
    /// The credentials do not allow it.
    Forbidden(String),
    /// It failed; the server may have sent `Retry-After`.
    Failed { reason: String, retry_after: Option<Duration> },
}

/// Failures of a scope so far, which decide the state that follows the next one.
#[derive(Debug)]
pub(super) struct RetryPolicy {
    backoff: Backoff,
    unfinished: u32,
    unparseable: u32,
    /// Time for which a scope that was read before may be forbidden without being denied.
    grace: Duration,
    was_read: bool,
    /// Time since which it is forbidden although it was read before.
    forbidden_since: Option<Instant>,
}

// === impl Position ===

impl Position {
    /// Returns the state that continues from here.
    pub(super) fn start(self) -> ScopeState {
        match self {
            Self::Nothing(unlisted) => ScopeState::Queued(unlisted),
            Self::UpTo(version) => ScopeState::Resuming(version),
        }
    }
}

// === impl Unlisted ===

impl Unlisted {
    /// A list of the newest state.
    pub(super) fn because(why: Relist) -> Self {
        Self { not_older_than: None, why, begun: false }
    }

    /// A list of a state that is not older than the one that was reported before.
    pub(super) fn after(version: ResourceVersion, why: Relist) -> Self {
        Self { not_older_than: Some(version), why, begun: false }
    }
}

// === impl RetryPolicy ===

impl RetryPolicy {
    /// Returns the policy of a scope that was read before, or not. The grace is never longer than the interval of denied scopes.
    pub(super) fn new(was_read: bool, denied_retry: Duration) -> Self {
        let backoff = Backoff::new(RETRY);
        let grace = FORBIDDEN_GRACE.min(denied_retry);
        Self { backoff, unfinished: 0, unparseable: 0, grace, was_read, forbidden_since: None }
    }

    /// Whether so many streamed lists were interrupted that the scope is listed in pages.
    pub(super) fn prefers_pages(&self) -> bool {
        self.unfinished >= UNFINISHED_LISTS
    }

    /// Whether unparseable events are left out instead of causing another list.
    pub(super) fn tolerates_unparseable(&self) -> bool {
        self.unparseable >= UNPARSEABLE_LISTS
    }

    /// Records that the server allows the scope.
    pub(super) fn allowed(&mut self) {
        (self.was_read, self.forbidden_since) = (true, None);
    }

    /// Records an event.
    pub(super) fn received(&mut self) {
        self.backoff.reset();
    }

    /// Records a stream that ended after so long.
    pub(super) fn streamed_for(&mut self, duration: Duration) {
        if duration >= HEALTHY {
            self.backoff.reset();
        }
    }

    /// Records a complete list. If events of it were left out, the next unparseable event causes no other list.
    pub(super) fn listed(&mut self, unparseable: bool) {
        self.allowed();
        self.backoff.reset();
        self.unfinished = 0;
        self.unparseable = if unparseable { self.unparseable } else { 0 };
    }

    /// Decides which state follows when a list or a watch has ended. The only place that does.
    pub(super) fn next(&mut self, position: Position, ended: StreamEnd) -> ScopeState {
        use Position::{Nothing, UpTo};
        match (ended, position) {
            (StreamEnd::Closed | StreamEnd::Silent, UpTo(version)) => ScopeState::Resuming(version),
            (StreamEnd::Closed | StreamEnd::Silent, Nothing(unlisted)) => {
                self.unfinished += 1;
                ScopeState::Queued(Unlisted { why: Relist::BrokeOff, ..unlisted })
            }
            (StreamEnd::ClosedAtOnce, position) => {
                self.unfinished += u32::from(matches!(position, Nothing(_)));
                self.wait("the API server closed the stream at once without an event".into(), None, position)
            }
            (StreamEnd::NotStreamed, position) => position.start(),
            (StreamEnd::Gone, UpTo(version)) => ScopeState::Queued(Unlisted::after(version, Relist::Gone)),
            // A list that is too old itself cannot be bounded by a version.
            (StreamEnd::Gone, Nothing(_)) => {
                self.list_after_pause("the list's history is gone", Relist::Gone)
            }
            // The versions of the hub's objects are not valid any more.
            (StreamEnd::Ahead, _) => {
                self.list_after_pause("resource versions went backwards", Relist::Restored)
            }
            (StreamEnd::Unparseable, _) => {
                self.unparseable += 1;
                self.list_after_pause("an event could not be read", Relist::Unreadable)
            }
            (StreamEnd::Forbidden(reason), then) if self.is_within_grace() => self.wait(reason, None, then),
            (StreamEnd::Forbidden(reason), then) => {
                (self.was_read, self.forbidden_since) = (false, None);
                ScopeState::Denied { reason, then }
            }
            (StreamEnd::Failed { reason, retry_after }, Nothing(unlisted)) if unlisted.begun => {
                self.unfinished += 1;
                let then = Nothing(Unlisted { why: Relist::BrokeOff, ..unlisted });
                self.wait(reason, retry_after, then)
            }
            (StreamEnd::Failed { reason, retry_after }, then) => self.wait(reason, retry_after, then),
        }
    }

    /// Whether the scope may be allowed again in a moment.
    fn is_within_grace(&mut self) -> bool {
        self.was_read && self.forbidden_since.get_or_insert_with(Instant::now).elapsed() < self.grace
    }

    fn list_after_pause(&mut self, reason: &str, why: Relist) -> ScopeState {
        self.wait(reason.into(), None, Position::Nothing(Unlisted::because(why)))
    }

    fn wait(&mut self, reason: String, retry_after: Option<Duration>, then: Position) -> ScopeState {
        let pause = self.backoff.next().max(retry_after.unwrap_or_default());
        ScopeState::Waiting { pause, reason, then }
    }
}

// === impl StreamEnd ===

/// The same reason, whether the status came as a response or as an event.
impl From<&Status> for StreamEnd {
    fn from(status: &Status) -> Self {
        match status {
            status if status.is_gone() => Self::Gone,
            status if status.is_too_large_resource_version() => Self::Ahead,
            status if status.is_unsupported_streaming_list() => Self::NotStreamed,
            status if status.is_forbidden() => Self::Forbidden(report(status)),
            status => Self::Failed { reason: report(status), retry_after: status.retry_after },
        }
    }
}

impl From<&ApiError> for StreamEnd {
    fn from(error: &ApiError) -> Self {
        match error.status().map(Self::from) {
            Some(Self::Forbidden(_)) => Self::Forbidden(report(error)),
            Some(Self::Failed { retry_after, .. }) => Self::Failed { reason: report(error), retry_after },
            Some(ended) => ended,
            None => Self::Failed { reason: report(error), retry_after: None },
        }
    }
}

#[cfg(test)]
mod tests;
