//! Replicas of kinds that can be scaled, and of kinds that cannot.

use crate::{
    action::{Action, Mode},
    case::{Case, Step, decisions},
    kinds::Kind,
};

pub(super) fn scale(seed: u64, number: u64) -> Case {
    const SCALED: [&str; 7] =
        ["Deployment", "StatefulSet", "Gadget", "Deployment", "StatefulSet", "DaemonSet", "ConfigMap"];
    let kind = Kind::of(SCALED[usize::try_from(number).unwrap() % SCALED.len()]);
    let decisions = decisions(seed, number);
    let choices = decisions.within("scale");
    let action = Action::Scale {
        replicas: u32::try_from(choices.number("replicas", 0..9)).unwrap(),
        current: choices.chance("current", 40).then(|| u32::try_from(choices.number("now", 0..4)).unwrap()),
        version: choices.chance("version", 15).then_some("1"),
    };
    let mut steps = Vec::new();
    // Sometimes there is nothing to scale.
    if !choices.chance("missing", 10) {
        steps.push(Step::Act(Action::Apply {
            manifest: kind.manifest(number, &decisions),
            mode: Mode::ClientSide,
        }));
    }
    steps.push(Step::Act(action));
    Case::new(number, kind, steps)
}
