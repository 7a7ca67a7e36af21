//! First manifest, another client's change, second manifest.

use crate::{
    action::{Action, Mode},
    case::{Case, Step, decisions},
    features::{Feature, between},
    foreign_change::ForeignChange,
    kinds::{KINDS, Kind},
    oddity::Oddity,
};

fn kind(number: u64) -> &'static Kind {
    &KINDS[usize::try_from(number).unwrap() % KINDS.len()]
}

pub(super) fn client_side(seed: u64, number: u64) -> Case {
    let (kind, decisions) = (kind(number), decisions(seed, number));
    let first = kind.manifest(number, &decisions);
    let oddity = Oddity::of(&decisions);
    let second = oddity.second(kind, number, &decisions);
    let foreign_change = ForeignChange::of(kind, number, &decisions);

    let mut features = between(&first, &second);
    match &foreign_change {
        ForeignChange::Nothing => {}
        ForeignChange::Patch(_) => features.push(Feature::ChangedInBetween),
        ForeignChange::Deletion => features.push(Feature::DeletedInBetween),
    }
    if oddity == Oddity::Null && !features.contains(&Feature::ExplicitNull) {
        features.push(Feature::ExplicitNull);
    }
    if kind.is_custom() {
        features.push(Feature::JsonMerge);
    }
    let apply = |manifest| Step::Act(Action::Apply { manifest, mode: Mode::ClientSide });
    let case = Case::new(number, kind, vec![apply(first), Step::Meddle(foreign_change), apply(second)]);
    Case { features, ..case }
}

/// Two managers, with and without force, and objects that were applied client-side before.
pub(super) fn server_side(seed: u64, number: u64) -> Case {
    let (kind, decisions) = (kind(number), decisions(seed, number));
    let choices = decisions.within("server-side");
    let mode = |decision: &str| Mode::ServerSide {
        manager: choices.one(decision, &[None, None, Some("other")]),
        force: choices.chance(&format!("{decision} by force"), 40),
    };
    let before = match choices.number("before", 0..3) {
        0 => Mode::ClientSide,
        _ => mode("first"),
    };
    let first = kind.manifest(number, &decisions);
    let second = Oddity::of(&decisions).second(kind, number, &decisions);
    let features = between(&first, &second);
    let mut steps = vec![
        Step::Act(Action::Apply { manifest: first, mode: before }),
        Step::Meddle(ForeignChange::of(kind, number, &decisions)),
        Step::Act(Action::Apply { manifest: second.clone(), mode: mode("second") }),
    ];
    // There and back again.
    if choices.chance("again", 30) {
        steps.push(Step::Act(Action::Apply {
            manifest: kind.manifest(number, &decisions.version(3)),
            mode: mode("third"),
        }));
    } else if choices.chance("back", 20) {
        steps.push(Step::Act(Action::Apply { manifest: second, mode: Mode::ClientSide }));
    }
    let case = Case::new(number, kind, steps);
    Case { verb: "apply --server-side".to_owned(), features, ..case }
}

/// An object that is created twice, or replaced before it exists: both are refused.
pub(super) fn create_and_replace(seed: u64, number: u64) -> Case {
    let (kind, decisions) = (kind(number), decisions(seed, number));
    let choices = decisions.within("create");
    let first = kind.manifest(number, &decisions);
    let second = Oddity::of(&decisions).second(kind, number, &decisions);
    let (create, replace) = (
        |manifest| Step::Act(Action::Create { manifest }),
        |manifest| Step::Act(Action::Replace { manifest }),
    );
    let steps = match choices.number("order", 0..10) {
        0 => vec![replace(first)],
        1..3 => vec![create(first), create(second)],
        3..5 => vec![create(second)],
        _ => vec![create(first), Step::Meddle(ForeignChange::of(kind, number, &decisions)), replace(second)],
    };
    Case::new(number, kind, steps)
}
