//! Flow control of a session: the costs and limits on which agent and hub must agree.
//!
//! The hub grants each attached account a credit in bytes. Both sides count every item of a batch at its [`cost`], from
//! the moment it is sent until its batch is acknowledged, and both decide with [`fits`] whether the next item is within
//! the credit. The hub frees a batch before it sends the acknowledgement, so it never counts more than the agent: an
//! agent that keeps to its credit is never detached for exceeding it, and no tolerance is needed.
//!
//! The costs are part of the wire protocol. All agents of protocol v1 have counted by these costs, also those older than
//! this module. An agent that counts less would be detached, so a cost may only change together with a capability that the
//! agent announces when it opens the Events channel.

use spindrift_model::{Item, Upsert};

/// Cost of an item besides its body: keys, versions, framing.
const ITEM_BYTES: usize = 256;

/// Cost of each mentioned object. Consecutive mentions can be merged into one item without a change of their cost.
const MENTION_BYTES: usize = 64;

/// Largest number of fingerprints of one scope that the hub sends and the agent holds: 4 MB at eight bytes each, for the
/// duration of a list.
pub const MAX_FINGERPRINTS: usize = 512 * 1024;

/// Number of heartbeat intervals without a message after which either side considers the link dead.
pub const MISSED_HEARTBEATS: u32 = 3;

/// Returns the credit, in bytes, that an item takes until its batch is acknowledged.
pub fn cost(item: &Item) -> usize {
    match item {
        Item::Upsert(Upsert { body, .. }) => ITEM_BYTES + body.len(),
        Item::Mention { uids, .. } => uids.len() * MENTION_BYTES,
        Item::Declare(declaration) => (declaration.scopes.len() + 1) * ITEM_BYTES,
        Item::Begin { .. } | Item::Delete { .. } | Item::End { .. } | Item::Progress { .. } => ITEM_BYTES,
    }
}

/// Whether `bytes` more may be in use besides `used`. An item that is larger than the whole credit passes alone.
pub fn fits(used: usize, bytes: usize, credit: usize) -> bool {
    used == 0 || used.saturating_add(bytes) <= credit
}

#[cfg(test)]
mod tests {
    use spindrift_model::{Declaration, ScopeId};

    use super::*;

    fn mention(uids: &[&str]) -> Item {
        Item::Mention { scope: ScopeId(1), uids: uids.iter().map(|uid| (*uid).into()).collect() }
    }

    #[test]
    fn merged_mentions_cost_as_much_as_separate_ones() {
        let merged = cost(&mention(&["a", "long-uid"]));
        assert_eq!(merged, cost(&mention(&["a"])) + cost(&mention(&["long-uid"])));
    }

    #[test]
    fn costs_are_those_of_all_agents_of_protocol_v1() {
        let upsert = Upsert {
            scope: ScopeId(1),
            namespace: "n".into(),
            name: "a".into(),
            uid: "u".into(),
            resource_version: "1".into(),
            body: "{}".into(),
        };
        for (item, bytes) in [
            (Item::Upsert(upsert), 258),
            (mention(&["a", "b"]), 128),
            (Item::Declare(Declaration::default()), 256),
            (Item::Progress { scope: ScopeId(1), resource_version: "1".into() }, 256),
        ] {
            assert_eq!(cost(&item), bytes, "{item:?}");
        }
    }

    #[test]
    fn only_an_item_that_is_alone_may_exceed_the_credit() {
        assert!(fits(0, 2000, 1000));
        assert!(fits(400, 600, 1000));
        assert!(!fits(400, 601, 1000));
        assert!(!fits(1, usize::MAX, 1000));
    }
}
