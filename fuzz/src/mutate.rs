//! Makes new inputs of old ones.

use fastrand::Rng;

/// Mutates by a seed.
pub(crate) struct Mutator {
    rng: Rng,
    words: &'static [&'static str],
}

/// Longer inputs show nothing that shorter ones do not.
const LONGEST: usize = 2048;

// === impl Mutator ===

impl Mutator {
    pub(crate) fn new(seed: u64, words: &'static [&'static str]) -> Self {
        Self { rng: Rng::with_seed(seed), words }
    }

    /// An input made of one of the corpus, or of two.
    pub(crate) fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.rng.choice(corpus).cloned().unwrap_or_default();
        for _ in 0..self.rng.usize(1..=4) {
            let (from, to) = self.range(input.len());
            match self.rng.u8(..8) {
                0 if !input.is_empty() => {
                    let at = self.rng.usize(..input.len());
                    input[at] ^= 1 << self.rng.u8(..8);
                }
                1 => input.insert(from, self.rng.u8(..)),
                2 => drop(input.drain(from..to)),
                3 => {
                    let copy = input[from..to].to_vec();
                    let at = self.rng.usize(..=input.len());
                    input.splice(at..at, copy);
                }
                4 => {
                    let other = self.rng.choice(corpus).map_or(&[][..], Vec::as_slice);
                    let (start, end) = self.range(other.len());
                    input.splice(from..to, other[start..end].iter().copied());
                }
                5 => input.truncate(to),
                _ => {
                    let word = self.rng.choice(self.words).copied().unwrap_or_default();
                    let end = if self.rng.bool() { from } else { to };
                    input.splice(from..end, word.bytes());
                }
            }
        }
        input.truncate(LONGEST);
        input
    }

    /// Part of an input; a short one, mostly.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.rng.usize(..=length);
        let most = if self.rng.u8(..4) == 0 { length } else { (from + 16).min(length) };
        (from, self.rng.usize(from..=most.max(from)))
    }
}
