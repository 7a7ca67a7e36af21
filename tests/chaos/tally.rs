//! Table of the faults and quiet points of a run.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use crate::{fault::Fault, memory::Peak, writer::Written};

#[derive(Default)]
pub(crate) struct Tally {
    injections: BTreeMap<Fault, u32>,
    quiet: Vec<Duration>,
}

// === impl Tally ===

impl Tally {
    pub(crate) fn injected(&mut self, fault: Fault) {
        *self.injections.entry(fault).or_default() += 1;
    }

    pub(crate) fn quiet(&mut self, took: Duration) {
        self.quiet.push(took);
    }

    pub(crate) fn quiet_points(&self) -> usize {
        self.quiet.len()
    }

    /// Number of times that the rarest fault was injected.
    pub(crate) fn fewest(&self) -> u32 {
        Fault::ALL.iter().map(|fault| self.injections.get(fault).copied().unwrap_or(0)).min().unwrap_or(0)
    }

    pub(crate) fn table(&self, elapsed: Duration, written: &Written, peaks: &[Peak]) -> String {
        let mut table = String::new();
        writeln!(table, "{:<24} {:>6}", "fault", "times").unwrap();
        for (fault, times) in &self.injections {
            writeln!(table, "{fault:<24} {times:>6}").unwrap();
        }
        let slowest = self.quiet.iter().max().copied().unwrap_or_default();
        writeln!(table, "{:<24} {:>6}   slowest {slowest:.1?}", "quiet points", self.quiet.len()).unwrap();
        let Written { changes, large } = written;
        writeln!(table, "{:<24} {changes:>6}   {large} of 1 MB or more", "changes").unwrap();
        writeln!(table, "{:<24} {:>6.0}", "seconds", elapsed.as_secs_f64()).unwrap();
        for Peak { agent, megabytes, bound } in peaks {
            writeln!(table, "{:<24} {megabytes:>6.1}   bound {bound:.0}", format!("{agent}, MB at most"))
                .unwrap();
        }
        table
    }
}
