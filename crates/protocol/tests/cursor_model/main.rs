//! The cursor protocol, checked in every state that it can reach within some bounds.
//!
//! ```text
//!                            ◀── attach: the new epoch, seq, resume points ──
//! API server ──list, watch──▶ agent ══batch: epoch, seq, item══▶ hub ──commit──▶ store
//! ```
//!
//! The API server is the truth, an agent is a pipe without memory, a hub remembers what open generations have
//! mentioned and tells what rows there are, and the store decides: a batch is written if it is the next one of the newest attachment, else it is
//! refused. [`store`] is the reference for the hub's transactions, [`attachment`] for what an agent sends and when.
//! [`properties`] must hold; [`mutation`] leaves out one rule at a time and shows which of them breaks.
//!
//! Limits of the number of states:
//! - [`bounds`] say how often the objects change, agents attach and faults happen; an agent sends two batches ahead.
//! - A batch holds one item, which is the worst case: a death can come between any two items.
//! - Within a stream batches arrive in order; loss, duplication and reordering are faults.
//! - Of the stale batches, one at a time waits for its late delivery: the store refuses each for itself.
//! - Agents have no names, hubs have no names, and of a seq only its distance to the others counts.
//!
//! Discovery that fails in part is not modelled: a scope that may exist is declared like one that does.

mod agent;
mod api;
mod attachment;
mod bounds;
mod model;
mod mutation;
mod properties;
mod store;
mod world;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model};

use crate::bounds::{Bounds, Fault};
use crate::model::CursorModel;
use crate::mutation::Mutation;

fn explore(mutation: Mutation, bounds: Bounds) -> CheckerBuilder<CursorModel> {
    CursorModel { mutation, bounds }.checker()
}

/// Asserts that the protocol without this rule breaks the property, with one fault at most, and prints how.
fn assert_breaks(mutation: Mutation, bounds: Bounds, property: &'static str) {
    let until_found = HasDiscoveries::AllOf([property].into());
    let bounds = Bounds { faults: 1, ..bounds };
    // One thread and breadth first, so the trace is a shortest one.
    let checker = explore(mutation, bounds).finish_when(until_found).spawn_bfs().join();
    let trace = checker.assert_any_discovery(property);
    println!("{mutation:?} breaks \"{property}\":");
    for action in trace.into_actions() {
        println!("    {action:?}");
    }
}

#[test]
fn every_invariant_holds_in_every_state() {
    let (mut states, mut depth) = (0, 0);
    for bounds in [Bounds::TAKEOVER, Bounds::SECOND_TAKEOVER, Bounds::FIRST_SYNC, Bounds::SCOPES] {
        let checker = explore(Mutation::None, bounds).threads(2).spawn_bfs().join();
        checker.assert_properties();
        states += checker.unique_state_count();
        depth = depth.max(checker.max_depth());
    }
    println!("cursor model: {states} states, depth {depth}, {} invariants hold", properties::invariants());
}

#[test]
fn every_kind_of_fault_can_be_overcome() {
    for fault in Fault::ALL {
        let bounds = Bounds { kinds: std::slice::from_ref(fault), faults: 1, ..Bounds::SCOPES };
        let goal = match fault {
            Fault::Compaction => properties::RELISTS,
            _ => properties::CONVERGES,
        };
        let until_found = HasDiscoveries::AllOf([goal].into());
        let checker = explore(Mutation::None, bounds).finish_when(until_found).spawn_bfs().join();
        checker.assert_any_discovery(goal);
    }
}

#[test]
fn attach_that_keeps_the_epoch_lets_two_agents_write() {
    assert_breaks(Mutation::AttachKeepsEpoch, Bounds::TAKEOVER, properties::STALE);
}

#[test]
fn commit_that_ignores_the_epoch_writes_stale_events() {
    assert_breaks(Mutation::CommitIgnoresEpoch, Bounds::TAKEOVER, properties::STALE);
}

#[test]
fn commit_that_ignores_the_seq_writes_copies() {
    assert_breaks(Mutation::CommitIgnoresSeq, Bounds::TAKEOVER, properties::COPY);
}

#[test]
fn begin_that_keeps_the_resume_point_leaves_a_mixture() {
    assert_breaks(Mutation::BeginKeepsResumePoint, Bounds::TAKEOVER, properties::MIRROR);
}

#[test]
fn list_from_any_cache_goes_back_in_time() {
    assert_breaks(Mutation::ListFromCache, Bounds::FIRST_SYNC, properties::BACK);
}

#[test]
fn end_without_pruning_keeps_deleted_rows() {
    assert_breaks(Mutation::EndWithoutPrune, Bounds::TAKEOVER, properties::DELETED);
}

#[test]
fn mentions_of_an_abandoned_generation_keep_deleted_rows() {
    assert_breaks(Mutation::MentionedSurvives, Bounds::FIRST_SYNC, properties::DELETED);
}

#[test]
fn mentions_that_are_taken_on_trust_lose_living_rows() {
    assert_breaks(Mutation::MentionsTakenOnTrust, Bounds::SCOPES, properties::LIVING);
}

#[test]
fn resuming_from_what_was_sent_loses_events() {
    assert_breaks(Mutation::ResumeFromSent, Bounds::TAKEOVER, properties::LIVING);
}

#[test]
fn attachment_that_outlives_its_hub_loses_living_rows() {
    assert_breaks(Mutation::AttachmentOutlivesHub, Bounds::FIRST_SYNC, properties::LIVING);
}

#[test]
fn scope_that_returns_to_its_old_position_loses_living_rows() {
    assert_breaks(Mutation::ReturnToOldPosition, Bounds::SCOPES, properties::LIVING);
}

#[test]
fn declare_that_keeps_rows_keeps_undeclared_ones() {
    assert_breaks(Mutation::DeclareKeepsRows, Bounds::SCOPES, properties::UNDECLARED);
}

#[test]
fn declare_that_keeps_resume_points_never_heals() {
    assert_breaks(Mutation::DeclareKeepsResumePoint, Bounds::SCOPES, properties::HEALS);
}

/// The fence alone makes every delete meet its own object; matching the uid is a second lock on the same door.
#[test]
fn deletes_meet_their_own_object_even_without_matching_the_uid() {
    let bounds = Bounds { faults: 1, ..Bounds::TAKEOVER };
    explore(Mutation::DeleteIgnoresUid, bounds).spawn_bfs().join().assert_properties();
}
