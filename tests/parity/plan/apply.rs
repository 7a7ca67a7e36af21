//! First manifest, another client's change, second manifest.

use crate::{
    action::{Action, Mode},
    case::{Case, Step, dice},
    features::{Feature, between},
    kinds::{KINDS, Kind},
    meddling::Meddling,
    twist::Twist,
};

fn kind(number: u64) -> &'static Kind {
    &KINDS[usize::try_from(number).unwrap() % KINDS.len()]
}

pub(super) fn client_side(seed: u64, number: u64) -> Case {
    let (kind, dice) = (kind(number), dice(seed, number));
    let first = kind.manifest(number, &dice);
    let twist = Twist::of(&dice);
    let second = twist.second(kind, number, &dice);
    let meddling = Meddling::of(kind, number, &dice);

    let mut features = between(&first, &second);
    match &meddling {
        Meddling::Nothing => {}
        Meddling::Patch(_) => features.push(Feature::SomebodyElse),
        Meddling::Deletion => features.push(Feature::CreatedAgain),
    }
    if twist == Twist::Null && !features.contains(&Feature::ExplicitNull) {
        features.push(Feature::ExplicitNull);
    }
    if kind.is_custom() {
        features.push(Feature::JsonMerge);
    }
    let apply = |manifest| Step::Act(Action::Apply { manifest, mode: Mode::ClientSide });
    let case = Case::new(number, kind, vec![apply(first), Step::Meddle(meddling), apply(second)]);
    Case { features, ..case }
}

/// Two managers, with and without force, and objects that were applied client-side before.
pub(super) fn server_side(seed: u64, number: u64) -> Case {
    let (kind, dice) = (kind(number), dice(seed, number));
    let choices = dice.within("server-side");
    let mode = |decision: &str| Mode::ServerSide {
        manager: choices.one(decision, &[None, None, Some("other")]),
        force: choices.chance(&format!("{decision} by force"), 40),
    };
    let before = match choices.number("before", 0..3) {
        0 => Mode::ClientSide,
        _ => mode("first"),
    };
    let first = kind.manifest(number, &dice);
    let second = Twist::of(&dice).second(kind, number, &dice);
    let features = between(&first, &second);
    let mut steps = vec![
        Step::Act(Action::Apply { manifest: first, mode: before }),
        Step::Meddle(Meddling::of(kind, number, &dice)),
        Step::Act(Action::Apply { manifest: second.clone(), mode: mode("second") }),
    ];
    // There and back again.
    if choices.chance("again", 30) {
        steps.push(Step::Act(Action::Apply {
            manifest: kind.manifest(number, &dice.version(3)),
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
    let (kind, dice) = (kind(number), dice(seed, number));
    let choices = dice.within("create");
    let first = kind.manifest(number, &dice);
    let second = Twist::of(&dice).second(kind, number, &dice);
    let (create, replace) = (
        |manifest| Step::Act(Action::Create { manifest }),
        |manifest| Step::Act(Action::Replace { manifest }),
    );
    let steps = match choices.number("order", 0..10) {
        0 => vec![replace(first)],
        1..3 => vec![create(first), create(second)],
        3..5 => vec![create(second)],
        _ => vec![create(first), Step::Meddle(Meddling::of(kind, number, &dice)), replace(second)],
    };
    Case::new(number, kind, steps)
}
