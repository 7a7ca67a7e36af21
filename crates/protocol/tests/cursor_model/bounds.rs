//! Bounds of the exploration.

use crate::api::{PerScope, Scope};

/// Number of occurrences. Two agents, two hubs, reading, sending and delivering are not bounded otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) start: Start,
    pub(crate) scopes: PerScope<bool>,
    pub(crate) api_changes: usize,
    pub(crate) attaches: u8,
    pub(crate) faults: u8,
    pub(crate) kinds: &'static [Fault],
}

/// Content of the store when the first agent attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// An account that was never served.
    Empty,
    /// All rows and resume points, from agents that have died since.
    Synced,
}

/// Faults. That a stream breaks, or an answer is lost or late, is no fault here: it always can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    HubDeath,
    AgentDeath,
    Loss,
    Duplication,
    Reordering,
    Compaction,
    /// A scope is gone, by its definition or by configuration, and may return at any time.
    Vanishing,
}

// === impl Bounds ===

impl Bounds {
    /// A complete account moves to another agent, while its objects are deleted and created again.
    pub(crate) const TAKEOVER: Self = Self {
        start: Start::Synced,
        scopes: PerScope([true, false]),
        api_changes: 2,
        attaches: 2,
        faults: 2,
        kinds: Fault::ALL,
    };

    /// It changes hands once more.
    pub(crate) const SECOND_TAKEOVER: Self = Self { api_changes: 1, attaches: 3, ..Self::TAKEOVER };

    /// The first list is disturbed.
    pub(crate) const FIRST_SYNC: Self = Self { start: Start::Empty, api_changes: 1, ..Self::TAKEOVER };

    /// Two scopes share the stream, and one of them vanishes and returns.
    pub(crate) const SCOPES: Self =
        Self { scopes: PerScope([true; 2]), api_changes: 1, faults: 1, ..Self::TAKEOVER };

    pub(crate) fn allow(&self, fault: Fault) -> bool {
        self.kinds.contains(&fault) && (fault != Fault::Vanishing || self.scopes[Scope::Widgets])
    }
}

// === impl Fault ===

impl Fault {
    pub(crate) const ALL: &'static [Self] = &[
        Self::HubDeath,
        Self::AgentDeath,
        Self::Loss,
        Self::Duplication,
        Self::Reordering,
        Self::Compaction,
        Self::Vanishing,
    ];
}
