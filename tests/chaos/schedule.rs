//! Schedule of the faults: all of it follows from the seed.

use std::{fmt, time::Duration};

use crate::fault::Fault;

/// Faults that overlap, between two quiet points.
pub(crate) struct Round {
    pub(crate) injections: Vec<Injection>,
}

/// A fault, its time and its target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Injection {
    pub(crate) fault: Fault,
    /// The beginning of the round.
    pub(crate) after: Duration,
    pub(crate) lasts: Duration,
    /// Chooses whom it injections, of those who can be injected so.
    pub(crate) target: usize,
}

/// Rounds without end. Faults are dealt like cards, so that none is left out for long.
pub(crate) struct Schedule {
    rng: fastrand::Rng,
    deck: Vec<Fault>,
}

/// Enough to overlap, few enough to find the cause afterwards.
const INJECTIONS: usize = 5;

/// Strikes begin within this time.
const SPREAD: f64 = 2.5;

// === impl Schedule ===

impl Schedule {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), deck: Vec::new() }
    }

    pub(crate) fn next_round(&mut self) -> Round {
        let injections = (0..INJECTIONS).map(|_| self.next_strike()).collect();
        Round { injections }
    }

    fn next_strike(&mut self) -> Injection {
        if self.deck.is_empty() {
            self.deck = Fault::ALL.to_vec();
            self.rng.shuffle(&mut self.deck);
        }
        let fault = self.deck.pop().unwrap();
        Injection {
            fault,
            after: Duration::from_secs_f64(self.rng.f64() * SPREAD),
            lasts: fault.lasts(self.rng.f64()),
            target: self.rng.usize(..),
        }
    }
}

// === impl Round ===

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Injection { fault, after, lasts, .. }) in self.injections.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{fault} at {:.1} s for {:.1} s", after.as_secs_f64(), lasts.as_secs_f64())?;
        }
        Ok(())
    }
}

#[test]
fn the_same_seed_is_the_same_chaos() {
    let told = |seed| {
        let mut schedule = Schedule::new(seed);
        (0..20).map(|_| schedule.next_round().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(told(7), told(7));
    assert_ne!(told(7), told(8));
}

#[test]
fn no_fault_is_left_out_for_long() {
    let mut schedule = Schedule::new(1);
    let mut dealt: Vec<Fault> =
        (0..4).flat_map(|_| schedule.next_round().injections).map(|injection| injection.fault).collect();
    dealt.sort();
    dealt.dedup();
    assert_eq!(dealt.len(), Fault::ALL.len());
}
