//! Any of the verbs, by the command line.

use crate::{
    action::Way,
    case::{Case, decisions},
    features::Feature,
};

pub(super) fn any(seed: u64, number: u64) -> Case {
    let choices = decisions(seed, number).within("command line");
    let make = match choices.number("verb", 0..100) {
        ..40 => super::apply::client_side,
        40..55 => super::apply::server_side,
        55..70 => super::patch::patch,
        70..80 => super::scale::scale,
        80..92 => super::delete::delete,
        _ => super::rollout::rollout,
    };
    let mut case = make(seed, number);
    case.way = Way::CommandLine;
    case.features.push(Feature::CommandLine);
    case
}
