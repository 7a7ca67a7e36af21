//! Plays cases on both sides, step by step, and compares.

use futures::{StreamExt, stream};
use serde_json::json;

use crate::{
    action::{Action, Target},
    actor::Answer,
    case::{Case, Step, Where},
    compare::differences,
    features::{Feature, in_patch},
    foreign_change::ForeignChange,
    outcome::Outcome,
    output::CommandOutput,
    side::Side,
    testbed::Testbed,
};

/// Result of a case.
pub(crate) struct Verdict {
    pub(crate) case: Case,
    pub(crate) features: Vec<Feature>,
    /// None, if all is well.
    pub(crate) differences: Vec<String>,
}

/// Cases that kubectl is called for once, where it can take several.
const BATCH: usize = 8;

/// Plays all cases, so many batches at once; reports each verdict as soon as there is one.
pub(crate) async fn play_all(
    testbed: &Testbed,
    cases: Vec<Case>,
    workers: usize,
    mut tell: impl FnMut(Verdict),
) {
    let mut cases = cases.into_iter();
    let batches = std::iter::from_fn(|| {
        let batch: Vec<_> = cases.by_ref().take(BATCH).collect();
        (!batch.is_empty()).then_some(batch)
    });
    let free = parking_lot::Mutex::new((0..workers).collect::<Vec<_>>());
    let verdicts = stream::iter(batches).map(|batch| {
        let free = &free;
        async move {
            let worker = free.lock().pop().unwrap();
            let verdicts = play(testbed, batch, worker).await;
            free.lock().push(worker);
            verdicts
        }
    });
    let mut verdicts = std::pin::pin!(verdicts.buffer_unordered(workers));
    while let Some(batch) = verdicts.next().await {
        batch.into_iter().for_each(&mut tell);
    }
}

async fn play(testbed: &Testbed, cases: Vec<Case>, worker: usize) -> Vec<Verdict> {
    let sides = Side::pair(worker);
    let mut verdicts: Vec<_> = cases
        .into_iter()
        .map(|case| Verdict { features: case.features.clone(), case, differences: Vec::new() })
        .collect();
    let steps = verdicts.iter().map(|verdict| verdict.case.steps.len()).max().unwrap_or_default();
    for step in 0..steps {
        act(testbed, &sides, &mut verdicts, step).await;
        for verdict in &mut verdicts {
            verdict.take(testbed, &sides, step).await;
        }
    }
    for verdict in &mut verdicts {
        verdict.compare(testbed, &sides).await;
    }
    for Verdict { case, .. } in &verdicts {
        for (side, name) in sides.iter().flat_map(|side| case.names.iter().map(move |name| (side, name))) {
            testbed.remove(case.kind, side, name).await;
        }
    }
    verdicts
}

/// Performs the actions that cases have at this step, on both sides at once.
async fn act(testbed: &Testbed, sides: &[Side; 2], verdicts: &mut [Verdict], step: usize) {
    let (west, east) = (targets(verdicts, &sides[0], step), targets(verdicts, &sides[1], step));
    if west.is_empty() {
        return;
    }
    let (theirs, ours) = tokio::join!(testbed.actors[0].act(&west), testbed.actors[1].act(&east));
    let acting = verdicts.iter_mut().filter(|verdict| verdict.action(step).is_some());
    for ((verdict, theirs), ours) in acting.zip(theirs).zip(ours) {
        verdict.judge(step, &theirs, &ours);
    }
}

fn targets<'a>(verdicts: &'a [Verdict], side: &'a Side, step: usize) -> Vec<(Target<'a>, &'a Action)> {
    let target = |verdict: &'a Verdict| {
        let Case { kind, names, label, way, .. } = &verdict.case;
        let action = verdict.action(step)?;
        let name = action.object_name().unwrap_or(&names[0]);
        Some((Target { way: *way, kind, name, label, side }, action))
    };
    verdicts.iter().filter_map(target).collect()
}

// === impl Verdict ===

impl Verdict {
    fn action(&self, step: usize) -> Option<&Action> {
        match self.case.steps.get(step)? {
            Step::Act(action) => Some(action),
            _ => None,
        }
    }

    fn judge(&mut self, step: usize, theirs: &Answer, ours: &Answer) {
        let difference = match (&theirs.output, &ours.output) {
            (Some(theirs), Some(ours)) => CommandOutput::difference(theirs, ours),
            _ => Outcome::difference(&theirs.outcome, &ours.outcome),
        };
        if let Some(difference) = difference {
            self.differences.push(format!("step {}: {difference}", step + 1));
        }
        if theirs.outcome.is_refused() {
            self.features.push(Feature::Refused);
        }
        self.features.extend(theirs.patch.iter().flat_map(|patch| in_patch(patch)));
    }

    /// Performs the other steps.
    async fn take(&mut self, testbed: &Testbed, sides: &[Side; 2], step: usize) {
        let Case { kind, names, steps, .. } = &self.case;
        let [west, east] = sides;
        match steps.get(step) {
            Some(Step::Meddle(foreign_change)) => {
                let theirs = testbed.change_as_another_client(kind, west, &names[0], foreign_change).await;
                let ours = testbed.change_as_another_client(kind, east, &names[0], foreign_change).await;
                if theirs != ours {
                    self.differences
                        .push(format!("another client: {theirs:?} beside kubectl, {ours:?} beside us"));
                }
            }
            Some(Step::Sabotage) => {
                let patch = ForeignChange::Patch(json!({ "metadata": { "labels": { "planted": "yes" } } }));
                testbed.change_as_another_client(kind, east, &names[0], &patch).await.ok();
            }
            Some(Step::Settle) => {
                for (side, name) in sides.iter().flat_map(|side| names.iter().map(move |name| (side, name))) {
                    testbed.settle(kind, side, name).await;
                }
            }
            _ => {}
        }
    }

    async fn compare(&mut self, testbed: &Testbed, sides: &[Side; 2]) {
        let Case { kind, names, .. } = &self.case;
        let [west, east] = sides;
        for name in names {
            let (theirs, ours) =
                (testbed.object(kind, west, name).await, testbed.object(kind, east, name).await);
            self.differences.extend(differences(&theirs, &ours));
        }
        let deletes = matches!(self.case.steps.last(), Some(Step::Act(Action::Delete(_))));
        if deletes && self.case.cluster == Where::Living {
            let (theirs, ours) =
                (testbed.has_children(west, &names[0]).await, testbed.has_children(east, &names[0]).await);
            if theirs != ours {
                self.differences.push(format!("children are left: {theirs} by kubectl, {ours} by us"));
            }
        }
    }
}
