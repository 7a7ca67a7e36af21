//! One object by its name, several by a label, none at all.

use crate::{
    action::{Action, Deletion, Mode},
    case::{Case, Step, Where, decisions, deletable},
    kinds::Kind,
};

pub(super) fn delete(seed: u64, number: u64) -> Case {
    const DELETED: [&str; 10] = [
        "Deployment",
        "ConfigMap",
        "Secret",
        "StatefulSet",
        "Gadget",
        "Job",
        "Service",
        "Role",
        "ClusterRole",
        "CustomResourceDefinition",
    ];
    let kind = Kind::of(DELETED[usize::try_from(number).unwrap() % DELETED.len()]);
    let decisions = decisions(seed, number);
    let choices = decisions.within("delete");
    let is_definition = kind.name == "CustomResourceDefinition";
    let by_label = choices.chance("label", 30) && !is_definition;
    let missing = choices.chance("missing", 15);
    // Who deletes in the foreground waits for a controller, which only a living cluster has.
    let cascade =
        choices.one("cascade", &[None, None, Some("background"), Some("orphan"), Some("foreground")]);
    let cluster = if matches!(cascade, Some("orphan" | "foreground")) { Where::Living } else { Where::Bare };

    let manifest = |decisions| kind.manifest(number, decisions);
    let mut names = vec![kind.object_name(number)];
    if by_label {
        names.push(format!("{}-too", names[0]));
    }
    let apply = |name: &String| {
        let mut manifest = deletable(manifest(&decisions), number, name);
        if manifest["spec"].get("replicas").is_some() {
            manifest["spec"]["replicas"] = 1.into();
        }
        Step::Act(Action::Apply { manifest, mode: Mode::ClientSide })
    };
    let mut steps: Vec<_> = if missing { Vec::new() } else { names.iter().map(apply).collect() };
    if cluster == Where::Living && !missing {
        steps.push(Step::Settle);
    }
    steps.push(Step::Act(Action::Delete(Deletion {
        by_label,
        grace: choices.one("grace", &[None, None, Some(0), Some(5)]),
        cascade,
        ignore_not_found: choices.chance("ignore", 30),
        wait: true,
    })));
    Case { names, cluster, ..Case::new(number, kind, steps) }
}
