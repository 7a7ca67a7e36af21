//! Number of cases for each verb and kind, and the differences.

use std::{collections::BTreeMap, fmt::Write};

use crate::{
    features::{Feature, Features},
    kinds::KINDS,
    play::Verdict,
};

#[derive(Default)]
pub(crate) struct Tally {
    /// Cases and those of them that differ, by verb and kind.
    results: BTreeMap<(String, &'static str), (u64, u64)>,
    features: Features,
    /// In words.
    differing: Vec<String>,
}

/// Directives and changes that a long run must have seen this often.
const OFTEN: u64 = 50;

/// In the order of the table.
const VERBS: [&str; 15] = [
    "apply",
    "apply --server-side",
    "create",
    "replace",
    "patch --type=strategic",
    "patch --type=merge",
    "patch --type=json",
    "scale",
    "delete",
    "rollout undo",
    "rollout pause",
    "rollout resume",
    "rollout restart",
    "logs",
    "top",
];

// === impl Tally ===

impl Tally {
    /// Counts a case, and returns its description if it differs.
    pub(crate) fn add(&mut self, verdict: &Verdict) -> Option<&str> {
        let Verdict { case, features, differences } = verdict;
        self.record(&case.verb, case.kind.name, differences.is_empty());
        let mut features = features.clone();
        features.sort_unstable();
        features.dedup();
        for feature in features {
            *self.features.entry(feature).or_default() += 1;
        }
        if differences.is_empty() {
            return None;
        }
        self.differing.push(format!("{}\n    {}", case.describe(), differences.join("\n    ")));
        self.differing.last().map(String::as_str)
    }

    /// A case of something that has no objects to compare.
    pub(crate) fn add_plain(&mut self, verb: &str, kind: &'static str, difference: Option<String>) {
        self.record(verb, kind, difference.is_none());
        self.differing.extend(difference);
    }

    fn record(&mut self, verb: &str, kind: &'static str, is_same: bool) {
        let (cases, differ) = self.results.entry((verb.to_owned(), kind)).or_default();
        *cases += 1;
        *differ += u64::from(!is_same);
    }

    pub(crate) fn cases(&self) -> u64 {
        self.results.values().map(|(cases, _)| cases).sum()
    }

    pub(crate) fn differences(&self) -> u64 {
        self.results.values().map(|(_, differ)| differ).sum()
    }

    /// The cases that differ, with all that is needed to understand them.
    pub(crate) fn differing(&self) -> &[String] {
        &self.differing
    }

    /// Features that did not occur as often as they should.
    pub(crate) fn neglected(&self, is_long: bool) -> Vec<String> {
        let least = if is_long { OFTEN } else { 1 };
        let times = |feature| self.features.get(feature).copied().unwrap_or_default();
        let rare = Feature::ALL.iter().filter(|feature| times(feature) < least);
        rare.map(|feature| format!("{}: {} times", feature.name(), times(feature))).collect()
    }

    pub(crate) fn figures(&self) -> String {
        format!(
            "figure parity-cases = {} (goal 2000)\nfigure parity-differences = {} (goal 0)",
            self.cases(),
            self.differences()
        )
    }

    /// The tables of `docs/kubectl.md`.
    pub(crate) fn tables(&self) -> String {
        let mut text = String::from("| kind |");
        for verb in VERBS {
            write!(text, " {verb} |").unwrap();
        }
        text.push_str("\n| --- |");
        text.push_str(&" ---: |".repeat(VERBS.len()));
        for kind in KINDS.iter().map(|kind| kind.name).chain(["Pod", "Node"]) {
            write!(text, "\n| {kind} |").unwrap();
            for verb in VERBS {
                match self.results.get(&(verb.to_owned(), kind)) {
                    None => text.push_str("  |"),
                    Some((cases, 0)) => write!(text, " {cases} |").unwrap(),
                    Some((cases, differ)) => write!(text, " {cases}, **{differ} differ** |").unwrap(),
                }
            }
        }
        text.push_str("\n\n| feature | cases |\n| --- | ---: |");
        for feature in Feature::ALL {
            let times = self.features.get(&feature).copied().unwrap_or_default();
            write!(text, "\n| {} | {times} |", feature.name()).unwrap();
        }
        text
    }
}
