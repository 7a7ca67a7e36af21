//! Cases: steps, one after the other on both sides, before the objects are compared.
//!
//! ```text
//! first manifest ──▶ another client changes the object ──▶ second manifest, or another verb ──▶ compare
//! ```

use serde_json::Value;

use crate::{
    action::{Action, LABEL, Way},
    decisions::Decisions,
    features::Feature,
    foreign_change::ForeignChange,
    kinds::{Kind, SIDE},
};

/// Everything about it follows from the seed and its number.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) number: u64,
    /// Column of the table of results.
    pub(crate) verb: String,
    pub(crate) kind: &'static Kind,
    /// By which a selector finds its objects.
    pub(crate) label: String,
    /// The objects it leaves behind; the first one is its own.
    pub(crate) names: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) features: Vec<Feature>,
    pub(crate) cluster: Where,
    pub(crate) way: Way,
}

/// One after the other.
#[derive(Debug)]
pub(crate) enum Step {
    Act(Action),
    Meddle(ForeignChange),
    /// Waits until controllers have processed the change.
    Settle,
    /// Our object is changed behind our back, to see that it is noticed.
    Sabotage,
}

/// Which cluster a case needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// Only an API server: no other client acts.
    Bare,
    /// Controllers run, and so do pods.
    Living,
}

// === impl Case ===

impl Case {
    /// A case that ends with this action on the object of the first manifest.
    pub(crate) fn new(number: u64, kind: &'static Kind, steps: Vec<Step>) -> Self {
        let action = steps.iter().rev().find_map(|step| match step {
            Step::Act(action) => Some(action),
            _ => None,
        });
        let verb = action.unwrap().name();
        let names = vec![kind.object_name(number)];
        let label = label(number);
        let (features, cluster, way) = (Vec::new(), Where::Bare, Way::Rest);
        Self { number, verb, kind, label, names, steps, features, cluster, way }
    }

    /// Everything that is needed to understand the case.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("case {}: {} of {}, {:?}", self.number, self.verb, self.kind.name, self.way);
        for step in &self.steps {
            let step = match step {
                Step::Act(action) => match action {
                    Action::Apply { manifest, mode } => format!("apply {mode:?} {manifest}"),
                    Action::Create { manifest } => format!("create {manifest}"),
                    Action::Replace { manifest } => format!("replace {manifest}"),
                    Action::Patch { sort, patch } => format!("patch {sort} {patch}"),
                    other => format!("{other:?}"),
                },
                Step::Meddle(ForeignChange::Patch(patch)) => format!("another client patches {patch}"),
                Step::Meddle(other) => format!("another client: {other:?}"),
                Step::Settle => "controllers settle".to_owned(),
                Step::Sabotage => "sabotage".to_owned(),
            };
            // An overlong manifest is odd only in its length.
            text.push_str("\n      ");
            text.extend(step.chars().take(6_000));
        }
        text
    }
}

/// The decisions of a case.
pub(crate) fn decisions(seed: u64, number: u64) -> Decisions {
    Decisions::new(seed, number)
}

/// Of objects without a namespace, sides have their own.
fn label(case: u64) -> String {
    format!("{case}-{SIDE}")
}

/// A manifest without finalizers and the like, and with the label of its case.
pub(crate) fn deletable(mut manifest: Value, case: u64, name: &str) -> Value {
    // A controller writes such a role, and so creates it again if it is slow.
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.remove("aggregationRule");
    }
    let metadata = &mut manifest["metadata"];
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("finalizers");
        metadata.remove("ownerReferences");
    }
    metadata["name"] = name.into();
    metadata["labels"][LABEL] = label(case).into();
    manifest
}
