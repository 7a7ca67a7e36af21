//! Revisions, as real controllers make them.

use serde_json::{Value, json};

use crate::{
    action::{Action, Mode, Rollout},
    case::{Case, Step, Where, decisions, deletable},
    kinds::Kind,
};

pub(super) fn rollout(seed: u64, number: u64) -> Case {
    const ROLLED: [&str; 4] = ["Deployment", "StatefulSet", "Deployment", "DaemonSet"];
    let kind = Kind::of(ROLLED[usize::try_from(number).unwrap() % ROLLED.len()]);
    let decisions = decisions(seed, number);
    let choices = decisions.within("rollout");
    let version = |version: u32| {
        let manifest =
            deletable(kind.manifest(number, &decisions.version(version)), number, &kind.object_name(number));
        Step::Act(Action::Apply { manifest: calm(manifest, version), mode: Mode::ClientSide })
    };
    let mut steps = vec![version(0), Step::Settle];
    for later in 1..=u32::try_from(choices.number("versions", 1..4)).unwrap() {
        steps.extend([version(later), Step::Settle]);
    }
    let act = |rollout| Step::Act(Action::Rollout(rollout));
    match choices.number("action", 0..10) {
        // To the one before, to one that is there, to one that is not.
        ..5 => {
            steps.push(act(Rollout::Undo(choices.one("to", &[None, Some(0), Some(1), Some(2), Some(99)]))));
        }
        5..7 => steps.push(act(Rollout::Restart)),
        7 => steps.extend([act(Rollout::Pause), act(Rollout::Pause)]),
        8 => steps.extend([act(Rollout::Pause), Step::Settle, act(Rollout::Resume), act(Rollout::Resume)]),
        _ => {
            steps.extend([
                act(Rollout::Pause),
                Step::Settle,
                act(Rollout::Undo(None)),
                act(Rollout::Restart),
            ]);
        }
    }
    steps.push(Step::Settle);
    Case { cluster: Where::Living, ..Case::new(number, kind, steps) }
}

/// Few pods, and a template that differs in every version.
fn calm(mut manifest: Value, version: u32) -> Value {
    let spec = &mut manifest["spec"];
    if spec.get("replicas").is_some() {
        spec["replicas"] = 1.into();
    }
    for calm in ["paused", "revisionHistoryLimit", "minReadySeconds"] {
        spec.as_object_mut().unwrap().remove(calm);
    }
    spec["template"]["metadata"]["annotations"] = json!({ "version": version.to_string() });
    manifest
}
