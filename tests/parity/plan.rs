//! Which cases there are: so many of each verb.

mod apply;
mod command_line;
mod delete;
mod patch;
mod rollout;
mod scale;

use crate::case::Case;

/// So many cases of applying; of all other verbs, and by the command line, there are two thirds as many.
pub(crate) fn cases(seed: u64, applied: u64) -> Vec<Case> {
    let of = |share: u64| (applied * share / 100).max(5);
    // The numbers of a verb do not depend on how many cases there are, so that one can be played again.
    let numbered = |verb: u64, count: u64, make: fn(u64, u64) -> Case| {
        (0..count).map(move |index| make(seed, verb * 100_000 + index)).collect::<Vec<_>>()
    };
    let verbs = [
        numbered(0, applied, apply::client_side),
        numbered(1, of(10), apply::server_side),
        numbered(2, of(4), apply::create_and_replace),
        numbered(3, of(30), patch::patch),
        numbered(4, of(4), scale::scale),
        numbered(5, of(4), delete::delete),
        numbered(6, of(2), rollout::rollout),
        numbered(7, of(12), command_line::any),
    ];
    verbs.into_iter().flatten().collect()
}
