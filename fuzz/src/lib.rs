//! Fuzzer of all parsers of foreign input: it checks whether their invariants hold.
//!
//! ```text
//! seeds ──▶ corpus ──mutate──▶ target ──▶ an invariant is broken: the input is kept
//!             ▲                   │
//!             └── new behaviour ──┘
//! ```
//!
//! It runs on the stable compiler and needs no instrumentation: each target reports its behaviour, and inputs with a
//! new behaviour are the ones that further inputs are made of.
#![warn(missing_docs)]

mod mutate;
mod targets;

use std::{collections::HashSet, panic, time::Duration};

use mutate::Mutator;
use tokio::time::Instant;

pub use targets::TARGETS;

/// A parser of foreign input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    /// Inputs that make sense, or nearly.
    pub seeds: &'static [&'static str],
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// Reads one input: panics if a promise is broken, and gives a number that stands for how it behaved.
    pub run: fn(&[u8]) -> u64,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Number of inputs.
    pub executions: u64,
    /// Number of different behaviours.
    pub behaviours: usize,
    /// The input that broke a promise, which ended the run.
    pub culprit: Option<Vec<u8>>,
}

/// Looks at the clock only now and then.
const BETWEEN_LOOKS: u64 = 64;

/// Tries inputs until the time is over or a promise is broken; the same seed tries the same inputs.
pub fn fuzz(target: &Target, seed: u64, time: Duration) -> Outcome {
    let mut mutator = Mutator::new(seed, target.words);
    let mut corpus: Vec<Vec<u8>> = target.seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    let mut waiting = corpus.clone();
    let mut behaviours = HashSet::new();
    let mut executions = 0;
    let end = Instant::now() + time;
    while executions % BETWEEN_LOOKS != 0 || Instant::now() < end {
        let input = waiting.pop().unwrap_or_else(|| mutator.mutate(&corpus));
        executions += 1;
        let Ok(behaviour) = panic::catch_unwind(|| (target.run)(&input)) else {
            return Outcome { executions, behaviours: behaviours.len(), culprit: Some(input) };
        };
        if behaviours.insert(behaviour) {
            corpus.push(input);
        }
    }
    Outcome { executions, behaviours: behaviours.len(), culprit: None }
}
