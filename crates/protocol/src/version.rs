//! Protocol version of a session: the newest that both sides support.

use std::ops::RangeInclusive;

/// Protocol versions of this build.
pub const SUPPORTED: RangeInclusive<u32> = 1..=1;

/// Two builds that have no protocol version in common.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no common protocol version: the agent ({agent_build}) speaks {} to {}, the hub ({hub_build}) speaks {} to {}; upgrade the older one",
    agent.start(), agent.end(), hub.start(), hub.end()
)]
pub struct VersionMismatch {
    agent_build: String,
    agent: RangeInclusive<u32>,
    hub_build: String,
    hub: RangeInclusive<u32>,
}

/// Newest version that both support, or an error that names both builds.
pub fn negotiate(
    (agent_build, agent): (&str, RangeInclusive<u32>),
    (hub_build, hub): (&str, RangeInclusive<u32>),
) -> Result<u32, VersionMismatch> {
    let newest = *agent.end().min(hub.end());
    if newest >= *agent.start() && newest >= *hub.start() {
        return Ok(newest);
    }
    Err(VersionMismatch { agent_build: agent_build.into(), agent, hub_build: hub_build.into(), hub })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_chosen() {
        for (agent, hub, chosen) in
            [(1..=1, 1..=1, 1), (1..=2, 1..=1, 1), (2..=3, 1..=2, 2), (1..=5, 2..=4, 4)]
        {
            assert_eq!(negotiate(("a", agent), ("h", hub)), Ok(chosen));
        }
    }

    #[test]
    fn a_mismatch_names_both_sides_and_their_versions() {
        let error = negotiate(("0.9.0", 3..=4), ("0.1.0", 1..=2)).unwrap_err().to_string();
        for part in ["0.9.0", "3 to 4", "0.1.0", "1 to 2"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
