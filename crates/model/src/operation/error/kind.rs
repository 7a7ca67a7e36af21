//! Kinds of errors, by which callers decide.

use super::FailedState;

/// Kind of an error. Its word travels on the wire and is stored with the row: words are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The API server, or a proxy in front of it, refused: its `Status` has the code and reason.
    ApiServer,
    /// The request is invalid.
    BadRequest,
    /// The account's configuration does not allow the namespace or kind.
    Forbidden,
    /// The agent found no such object, revision or pod.
    NotFound,
    /// The cluster serves no such kind (kubectl: "no matches for kind").
    NoKindMatch,
    /// There is no such account.
    NoAccount,
    /// The state of the object, or another operation of the same id, does not allow it.
    Conflict,
    /// The request or the answer is too large.
    TooLarge,
    /// The account is frozen.
    Frozen,
    /// The hub has too many operations.
    HubOverloaded,
    /// The agent has too many operations.
    AgentOverloaded,
    /// Internal error of the agent or the hub.
    Internal,
    /// No agent of the account implements the verb.
    NotImplemented,
    /// The answer is broken, unreadable or incomplete.
    BadAnswer,
    /// No agent of the account is connected.
    NoAgent,
    /// An agent or hub is connected and cannot take the operation now.
    Unavailable,
    /// The store did not answer at submission: nothing was queued, and the id is unused.
    StoreUnavailable,
    /// The store did not answer after submission: nothing was sent, and the operation ended so under its id.
    NotSent,
    /// The store did not confirm the insertion of a change. Nothing was sent, and nothing will be under this id; until the
    /// row is found and ended, a restarted hub could still send it.
    MayHaveBeenQueued,
    /// The hub stops. The operation goes on under its id.
    HubStopping,
    /// The API server did not answer in time, or a condition did not become true in time.
    Timeout,
    /// Some of several objects were changed before the operation was cancelled or its deadline passed.
    PartlyDone,
    /// The operation has ended, and its answer is no longer stored.
    AnswerExpired,
    /// The change may or may not have been made.
    OutcomeUnknown,
    /// Nothing was sent, but the store does not record that: a restarted hub may still send it. Once the store answers,
    /// the row has the outcome.
    NotRecorded,
    /// Cancelled before anything was changed.
    Cancelled,
    /// The deadline passed before anything was changed.
    DeadlineExceeded,
}

// === impl ErrorKind ===

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 27] = [
        Self::ApiServer,
        Self::BadRequest,
        Self::Forbidden,
        Self::NotFound,
        Self::NoKindMatch,
        Self::NoAccount,
        Self::Conflict,
        Self::TooLarge,
        Self::Frozen,
        Self::HubOverloaded,
        Self::AgentOverloaded,
        Self::Internal,
        Self::NotImplemented,
        Self::BadAnswer,
        Self::NoAgent,
        Self::Unavailable,
        Self::StoreUnavailable,
        Self::NotSent,
        Self::MayHaveBeenQueued,
        Self::HubStopping,
        Self::Timeout,
        Self::PartlyDone,
        Self::AnswerExpired,
        Self::OutcomeUnknown,
        Self::NotRecorded,
        Self::Cancelled,
        Self::DeadlineExceeded,
    ];

    /// Word on the wire and in the store.
    pub fn word(self) -> &'static str {
        self.definition().0
    }

    /// Kind of a word; none if this release does not define it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// HTTP status of errors that the agent or the hub makes.
    pub fn code(self) -> u16 {
        self.definition().1
    }

    /// Reason in the `Status`, in Kubernetes' words.
    pub fn reason(self) -> &'static str {
        self.definition().2
    }

    /// Whether nothing is wrong with the operation and nothing was sent: it may be accepted a moment later.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::HubOverloaded | Self::StoreUnavailable | Self::NotSent)
    }

    /// Whether a change can be submitted again under the id that it had: the hub then answers with its outcome, or
    /// accepts it now. After [`ErrorKind::NotSent`] it needs a new id, since that one has ended.
    pub fn allows_same_id(self) -> bool {
        matches!(self, Self::HubOverloaded | Self::StoreUnavailable | Self::NotRecorded)
    }

    /// Whether it is no outcome: the hub refused the operation at submission, or stops before its end.
    pub(super) fn is_without_outcome(self) -> bool {
        use ErrorKind::{HubOverloaded, HubStopping, MayHaveBeenQueued, NoAccount, StoreUnavailable};
        matches!(self, NoAccount | HubOverloaded | StoreUnavailable | MayHaveBeenQueued | HubStopping)
    }

    /// State that an operation ends in with an error of this kind.
    pub fn state(self) -> FailedState {
        match self {
            Self::OutcomeUnknown | Self::NotRecorded => FailedState::Unknown,
            Self::Cancelled => FailedState::Cancelled,
            Self::DeadlineExceeded => FailedState::Expired,
            _ => FailedState::Failed,
        }
    }

    fn definition(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::ApiServer => ("ApiServer", 502, "BadGateway"),
            Self::BadRequest => ("BadRequest", 400, "BadRequest"),
            Self::Forbidden => ("Forbidden", 401, "Unauthorized"),
            Self::NotFound => ("NotFound", 404, "NotFound"),
            Self::NoKindMatch => ("NoKindMatch", 404, "NotFound"),
            Self::NoAccount => ("NoAccount", 404, "NotFound"),
            Self::Conflict => ("Conflict", 409, "Conflict"),
            Self::TooLarge => ("TooLarge", 413, "RequestEntityTooLarge"),
            Self::Frozen => ("Frozen", 423, "Locked"),
            Self::HubOverloaded => ("HubOverloaded", 429, "TooManyRequests"),
            Self::AgentOverloaded => ("AgentOverloaded", 429, "TooManyRequests"),
            Self::Internal => ("Internal", 500, "InternalError"),
            Self::NotImplemented => ("NotImplemented", 501, "NotImplemented"),
            Self::BadAnswer => ("BadAnswer", 502, "BadGateway"),
            Self::NoAgent => ("NoAgent", 503, "ServiceUnavailable"),
            Self::Unavailable => ("Unavailable", 503, "ServiceUnavailable"),
            Self::StoreUnavailable => ("StoreUnavailable", 503, "ServiceUnavailable"),
            Self::NotSent => ("NotSent", 503, "ServiceUnavailable"),
            Self::MayHaveBeenQueued => ("MayHaveBeenQueued", 503, "ServiceUnavailable"),
            Self::HubStopping => ("HubStopping", 503, "ServiceUnavailable"),
            Self::Timeout => ("Timeout", 504, "Timeout"),
            Self::PartlyDone => ("PartlyDone", 504, "Timeout"),
            Self::AnswerExpired => ("AnswerExpired", 410, "Gone"),
            Self::OutcomeUnknown => ("OutcomeUnknown", 502, "OutcomeUnknown"),
            Self::NotRecorded => ("NotRecorded", 502, "OutcomeUnknown"),
            Self::Cancelled => ("Cancelled", 409, "Cancelled"),
            Self::DeadlineExceeded => ("DeadlineExceeded", 504, "Timeout"),
        }
    }
}
