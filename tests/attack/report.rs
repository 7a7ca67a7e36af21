//! Table and figures of a run.

use std::{fmt, time::Duration};

use crate::target::{Case, Measured};

#[derive(Default)]
pub(crate) struct Report {
    attacks: Vec<(&'static str, Measured)>,
}

// === impl Report ===

impl Report {
    pub(crate) fn add(&mut self, attack: &'static str, measured: Measured) {
        self.attacks.push((attack, measured));
    }

    pub(crate) fn cases(&self) -> usize {
        self.attacks.iter().map(|(_, measured)| measured.cases.len()).sum()
    }

    pub(crate) fn failures(&self) -> usize {
        self.attacks.iter().map(|(_, measured)| failures(measured)).sum()
    }

    /// A line per failed case.
    pub(crate) fn failed_cases(&self) -> String {
        let line = |attack: &str, case: &Case| {
            case.failure.as_ref().map(|failure| format!("{attack}: {}: {failure}\n", case.name))
        };
        self.attacks
            .iter()
            .flat_map(|(attack, measured)| measured.cases.iter().filter_map(move |case| line(attack, case)))
            .collect()
    }

    pub(crate) fn peak_rss(&self) -> u64 {
        self.attacks.iter().map(|(_, measured)| measured.peak_rss).max().unwrap_or(0)
    }

    fn longest_gap(&self) -> Duration {
        self.attacks.iter().map(|(_, measured)| measured.longest_gap).max().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>6} {:>7} {:>8} {:>8}", "attack", "cases", "failed", "peak MB", "gap s")?;
        for (attack, measured) in &self.attacks {
            let Measured { cases, peak_rss, longest_gap } = measured;
            let (cases, failed, megabytes) = (cases.len(), failures(measured), peak_rss >> 20);
            let gap = longest_gap.as_secs_f64();
            writeln!(f, "{attack:<44} {cases:>6} {failed:>7} {megabytes:>8} {gap:>8.2}")?;
        }
        writeln!(f, "figure attack-cases = {}", self.cases())?;
        writeln!(f, "figure attack-failures = {} (goal 0)", self.failures())?;
        writeln!(f, "figure attack-hub-peak-rss = {} MB (goal 400)", self.peak_rss() >> 20)?;
        writeln!(f, "figure attack-health-gap = {:.2} s (goal 2)", self.longest_gap().as_secs_f64())
    }
}

fn failures(measured: &Measured) -> usize {
    measured.cases.iter().filter(|case| case.failure.is_some()).count()
}
