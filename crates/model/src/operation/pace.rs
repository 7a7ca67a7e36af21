//! How long an operation is likely to take, as far as its verb tells.

use super::{RolloutAction, Verb};

/// How long an operation is likely to take. Each pace has room of its own, so that what is short never waits for what is
/// long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Reads one thing: a call or two.
    Glance,
    /// Reads much, as fast as its reader takes it.
    Haul,
    /// Changes something: a few calls.
    Change,
    /// Changes something, and waits until the cluster has done the rest.
    Wait,
    /// Goes on until somebody ends it.
    Follow,
}

// === impl Pace ===

impl Pace {
    /// Of this verb.
    pub fn of(verb: &Verb) -> Self {
        match verb {
            Verb::Get(_) | Verb::Diff(_) | Verb::Matches(_) => Self::Glance,
            Verb::Logs(logs) if logs.follow => Self::Follow,
            Verb::List(_) | Verb::Logs(_) | Verb::Top(_) | Verb::Discover {} => Self::Haul,
            Verb::Rollout(rollout) => match rollout.action {
                RolloutAction::Status { follow: true } => Self::Follow,
                RolloutAction::Status { follow: false } | RolloutAction::History { .. } => Self::Glance,
                _ => Self::Change,
            },
            Verb::Delete(delete) if delete.wait => Self::Wait,
            Verb::Delete(_)
            | Verb::Apply(_)
            | Verb::Create(_)
            | Verb::Replace(_)
            | Verb::Patch(_)
            | Verb::Scale(_) => Self::Change,
        }
    }
}
