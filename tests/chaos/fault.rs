//! Faults, and their durations.

use std::{fmt, time::Duration};

/// One thing that breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Agent and hub lose their connection.
    LinkCut,
    /// No bytes pass between agent and hub; their connection stays open.
    LinkFrozen,
    /// Next to nothing gets through to the hub.
    LinkSlow,
    /// Agents and API server lose their connections.
    ApiLinkCut,
    /// No bytes pass between agents and the API server; their connections stay open.
    ApiLinkFrozen,
    AgentKilled,
    AgentFrozen,
    HubKilled,
    HubFrozen,
    DatabaseFrozen,
    DatabaseRestarted,
    ApiServerRestarted,
    ApiServerFrozen,
    /// etcd compacts its history, which the API server notices when it starts again.
    Compacted,
    /// 410 for watches that continue, in a playground.
    Gone,
    /// 429 with a time to wait.
    TooManyRequests,
    /// 500 for some requests, 503 for others.
    ServerErrors,
    /// Bodies that end in the middle of an object, or that contain no event.
    OddBodies,
    /// A definition comes, with objects of its kind, or goes.
    DefinitionChanged,
}

/// Longer than three pings (15 s), after which either side of a session takes the other for dead, and than a lease.
const SILENCE: Duration = Duration::from_secs(18);

// === impl Fault ===

impl Fault {
    pub(crate) const ALL: [Self; 19] = [
        Self::LinkCut,
        Self::LinkFrozen,
        Self::LinkSlow,
        Self::ApiLinkCut,
        Self::ApiLinkFrozen,
        Self::AgentKilled,
        Self::AgentFrozen,
        Self::HubKilled,
        Self::HubFrozen,
        Self::DatabaseFrozen,
        Self::DatabaseRestarted,
        Self::ApiServerRestarted,
        Self::ApiServerFrozen,
        Self::Compacted,
        Self::Gone,
        Self::TooManyRequests,
        Self::ServerErrors,
        Self::OddBodies,
        Self::DefinitionChanged,
    ];

    /// Duration of the fault for a share between 0 and 1. Most faults are short: an agent that has waited for long is
    /// slow to retry, and quiet points would become rare. Some freezes outlast the timeouts of the other side.
    pub(crate) fn lasts(self, share: f64) -> Duration {
        if share > 0.95 && self.is_freeze() {
            return SILENCE;
        }
        let (least, most) = match self {
            Self::AgentKilled | Self::HubKilled => (0.0, 1.5),
            Self::ApiServerRestarted | Self::Compacted | Self::DatabaseRestarted => (0.0, 1.0),
            Self::DefinitionChanged => (0.0, 0.0),
            _ => (0.3, 3.0),
        };
        Duration::from_secs_f64(least + (most - least) * share)
    }

    fn is_freeze(self) -> bool {
        matches!(
            self,
            Self::LinkFrozen
                | Self::ApiLinkFrozen
                | Self::AgentFrozen
                | Self::HubFrozen
                | Self::DatabaseFrozen
                | Self::ApiServerFrozen
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LinkCut => "link cut",
            Self::LinkFrozen => "link frozen",
            Self::LinkSlow => "link slow",
            Self::ApiLinkCut => "API link cut",
            Self::ApiLinkFrozen => "API link frozen",
            Self::AgentKilled => "agent killed",
            Self::AgentFrozen => "agent frozen",
            Self::HubKilled => "hub killed",
            Self::HubFrozen => "hub frozen",
            Self::DatabaseFrozen => "database frozen",
            Self::DatabaseRestarted => "database restarted",
            Self::ApiServerRestarted => "API server restarted",
            Self::ApiServerFrozen => "API server frozen",
            Self::Compacted => "history compacted",
            Self::Gone => "410 burst",
            Self::TooManyRequests => "429 burst",
            Self::ServerErrors => "5xx burst",
            Self::OddBodies => "odd bodies",
            Self::DefinitionChanged => "CRD came or went",
        })
    }
}
