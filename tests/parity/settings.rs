//! Number of cases, and their seed.

use std::{env, fmt, ops::RangeInclusive, str::FromStr};

pub(crate) struct Settings {
    pub(crate) seed: u64,
    /// Of applying; other verbs come on top.
    pub(crate) cases: u64,
    /// Only these, to play them again.
    pub(crate) only: Option<Numbers>,
    /// Whether the block of `docs/kubectl.md` is written.
    pub(crate) writes: bool,
}

/// `42`, or `42-50`.
pub(crate) struct Numbers(RangeInclusive<u64>);

/// Three of each kind.
const SHORT: u64 = 57;
/// The cases of a short run are always the same.
const SEED: u64 = 6;
/// From so many cases on, everything must have been seen often.
const LONG: u64 = 2_000;

// === impl Settings ===

impl Settings {
    /// Of `SPINDRIFT_PARITY_{CASES,SEED,ONLY,WRITE}`.
    pub(crate) fn from_env() -> Self {
        Self {
            seed: read("SEED").unwrap_or(SEED),
            cases: read("CASES").unwrap_or(SHORT),
            only: read("ONLY"),
            writes: read::<u8>("WRITE") == Some(1),
        }
    }

    /// Of a list of questions: all in a long run, every third in a short one.
    pub(crate) fn some<T>(&self, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        all.into_iter().step_by(if self.is_long() { 1 } else { 3 })
    }

    pub(crate) fn is_long(&self) -> bool {
        self.cases >= LONG
    }
}

// === impl Numbers ===

impl Numbers {
    pub(crate) fn contain(&self, number: u64) -> bool {
        self.0.contains(&number)
    }
}

impl FromStr for Numbers {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Ok(Self(first.parse()?..=last.parse()?))
    }
}

fn read<T: FromStr<Err: fmt::Debug>>(name: &str) -> Option<T> {
    let variable = format!("SPINDRIFT_PARITY_{name}");
    let text = env::var(&variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}: {text:?} is no number: {error:?}")))
}
