//! Where a scope stands, and where it goes from there.
//!
//! ```text
//!      ┌────────────── 410, a restored store, an event that cannot be read ──────────────┐
//!      ▼                                                                                 │
//! ──▶ Queued ──its turn──▶ Listing ──all told──▶ Watching ◀──version is known── Resuming ┤ ◀──
//!      ▲                      │                     │                              ▲     │
//!      └──── broke off ───────┘                     └─ closed, cut, silent ────────┘     │
//!                                                                                        │
//!      any of them ──403──▶ Denied ──allowed──▶ where it was       429, 5xx, no connection, a first 403, …
//!                                                                           └──▶ Waiting ──▶ where it was
//! ```

use std::time::Duration;

use spindrift_kubernetes::{ApiError, EventStream, Status};
use spindrift_model::ResourceVersion;
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use tokio::time::Instant;

use crate::{metrics::Relist, watch::budget::Turn};

/// A watch that fails is taken up again at this pace.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(200),
    multiplier: 2.0,
    jitter: 0.3,
    max: Duration::from_secs(30),
};
/// After this many streamed listings that did not come to their end, the scope is listed in pages.
const UNFINISHED_LISTINGS: u32 = 2;
/// After this many listings in a row with events that cannot be read, one is taken as it is: the object that is
/// missing then is visible as a problem, and all others are live again.
const SPOILT_LISTINGS: u32 = 3;
/// A stream that lived this long was a good one, also if nothing was to be told in it.
const HEALTHY: Duration = Duration::from_secs(10);
/// What was read before and is forbidden now is asked for again for this long, before it is taken for denied: bindings
/// are deleted and made anew, and an API server that has just started does not know all of them yet.
const DOUBT: Duration = Duration::from_secs(90);

/// What a scope does.
pub(super) enum State {
    /// Everything has to be told, as soon as it is this scope's turn.
    Queued(Unlisted),
    /// Everything is being told.
    Listing(Unlisted, Turn),
    /// All up to this version was told; the API server is asked to go on from there.
    Resuming(ResourceVersion),
    /// What changes after this version is told as it comes.
    Watching(ResourceVersion, EventStream),
    /// The credentials do not allow it. It is asked for again, rarely.
    Denied { reason: String, then: Position },
    /// It failed; it is left alone for a while.
    Waiting { pause: Duration, reason: String, then: Position },
}

/// What was told of the scope so far: all that has to be known to take it up again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Position {
    /// Nothing that could be built on.
    Nothing(Unlisted),
    /// Everything up to this version.
    UpTo(ResourceVersion),
}

/// A scope that has to be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unlisted {
    /// What was told before must not become older.
    pub(super) not_older_than: Option<ResourceVersion>,
    /// Why.
    pub(super) why: Relist,
    /// Whether something of the listing was told.
    pub(super) begun: bool,
}

/// Why a listing or a watch came to its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// The API server closed it in good order.
    Closed,
    /// The API server closed it at once, without a word.
    ClosedAtOnce,
    /// Not a byte came for longer than a server that lives would be silent.
    Silent,
    /// The version is too old, or the page of a list was asked for too late.
    Gone,
    /// The version is from the future: the cluster's own store was set back.
    Ahead,
    /// Something arrived that could not be read: what it said is lost.
    Spoilt,
    /// The server does not know how to list through a watch.
    NotStreamed,
    /// The credentials do not allow it.
    Forbidden(String),
    /// It failed; the server may have said when to come back.
    Failed { reason: String, retry_after: Option<Duration> },
}

/// How often things went wrong, and so how patient to be.
#[derive(Debug)]
pub(super) struct Patience {
    backoff: Backoff,
    unfinished: u32,
    spoilt: u32,
    /// How long a refusal of what was read before is doubted.
    doubt: Duration,
    was_read: bool,
    /// Since when it is refused although it was read before.
    refused: Option<Instant>,
}

// === impl Position ===

impl Position {
    /// Takes the scope up from here.
    pub(super) fn go_on(self) -> State {
        match self {
            Self::Nothing(unlisted) => State::Queued(unlisted),
            Self::UpTo(version) => State::Resuming(version),
        }
    }
}

// === impl Unlisted ===

impl Unlisted {
    /// With the newest state, whatever was told before.
    pub(super) fn because(why: Relist) -> Self {
        Self { not_older_than: None, why, begun: false }
    }

    /// With a state that is not older than what was told before.
    pub(super) fn after(version: ResourceVersion, why: Relist) -> Self {
        Self { not_older_than: Some(version), why, begun: false }
    }
}

// === impl Patience ===

impl Patience {
    /// For a scope that was read before, or not; nothing is doubted for longer than denials last.
    pub(super) fn new(was_read: bool, denied_retry: Duration) -> Self {
        let backoff = Backoff::new(RETRY);
        let doubt = DOUBT.min(denied_retry);
        Self { backoff, unfinished: 0, spoilt: 0, doubt, was_read, refused: None }
    }

    /// Whether streamed listings have broken off so often that pages are tried.
    pub(super) fn prefers_pages(&self) -> bool {
        self.unfinished >= UNFINISHED_LISTINGS
    }

    /// Whether what comes is to be taken as it is, even if something in it cannot be read.
    pub(super) fn bears_spoilt(&self) -> bool {
        self.spoilt >= SPOILT_LISTINGS
    }

    /// The server lets us read.
    pub(super) fn admitted(&mut self) {
        (self.was_read, self.refused) = (true, None);
    }

    /// The server speaks to us.
    pub(super) fn heard(&mut self) {
        self.backoff.reset();
    }

    /// A stream has ended that lived this long.
    pub(super) fn lived(&mut self, life: Duration) {
        if life >= HEALTHY {
            self.backoff.reset();
        }
    }

    /// A listing came to its end. If something in it could not be read, the next thing that cannot be is no news.
    pub(super) fn listed(&mut self, spoilt: bool) {
        self.admitted();
        self.backoff.reset();
        self.unfinished = 0;
        self.spoilt = if spoilt { self.spoilt } else { 0 };
    }

    /// The one place that decides what follows when a listing or a watch has ended.
    pub(super) fn next(&mut self, position: Position, ended: Ended) -> State {
        use Position::{Nothing, UpTo};
        match (ended, position) {
            (Ended::Closed | Ended::Silent, UpTo(version)) => State::Resuming(version),
            (Ended::Closed | Ended::Silent, Nothing(unlisted)) => {
                self.unfinished += 1;
                State::Queued(Unlisted { why: Relist::BrokeOff, ..unlisted })
            }
            (Ended::ClosedAtOnce, position) => {
                self.unfinished += u32::from(matches!(position, Nothing(_)));
                self.wait("the API server closed the stream without a word".into(), None, position)
            }
            (Ended::NotStreamed, position) => position.go_on(),
            (Ended::Gone, UpTo(version)) => State::Queued(Unlisted::after(version, Relist::Gone)),
            // A listing that is too old itself cannot be bounded by a version.
            (Ended::Gone, Nothing(_)) => self.list_after_pause("the list's history is gone", Relist::Gone),
            // Versions that the hub knows mean nothing any more.
            (Ended::Ahead, _) => self.list_after_pause("resource versions went backwards", Relist::Restored),
            (Ended::Spoilt, _) => {
                self.spoilt += 1;
                self.list_after_pause("an event could not be read", Relist::Unreadable)
            }
            (Ended::Forbidden(reason), then) if self.is_doubtful() => self.wait(reason, None, then),
            (Ended::Forbidden(reason), then) => {
                (self.was_read, self.refused) = (false, None);
                State::Denied { reason, then }
            }
            (Ended::Failed { reason, retry_after }, Nothing(unlisted)) if unlisted.begun => {
                self.unfinished += 1;
                let then = Nothing(Unlisted { why: Relist::BrokeOff, ..unlisted });
                self.wait(reason, retry_after, then)
            }
            (Ended::Failed { reason, retry_after }, then) => self.wait(reason, retry_after, then),
        }
    }

    /// Whether a refusal may be gone in a moment.
    fn is_doubtful(&mut self) -> bool {
        self.was_read && self.refused.get_or_insert_with(Instant::now).elapsed() < self.doubt
    }

    fn list_after_pause(&mut self, reason: &str, why: Relist) -> State {
        self.wait(reason.into(), None, Position::Nothing(Unlisted::because(why)))
    }

    fn wait(&mut self, reason: String, retry_after: Option<Duration>, then: Position) -> State {
        let pause = self.backoff.next().max(retry_after.unwrap_or_default());
        State::Waiting { pause, reason, then }
    }
}

// === impl Ended ===

/// The same word for the same thing, whether it came as an answer or as an event.
impl From<&Status> for Ended {
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

impl From<&ApiError> for Ended {
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
