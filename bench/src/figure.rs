//! One line of the result, and the summary of many numbers.

use std::{fmt, time::Duration};

/// A measured value beside its peer.
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) peer: f64,
    pub(crate) ratio: f64,
    /// For the ratio if it has no unit.
    pub(crate) goal: &'static str,
}

// === impl Figure ===

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit, peer, ratio, goal } = self;
        // A share of some percent has the digits of its goal.
        let digits = if *ratio < 0.1 { 4 } else { 2 };
        write!(f, "figure {name} = {value:.2} {unit} (peer {peer:.2}, ratio {ratio:.digits$}, goal {goal})")
    }
}

/// The value below which this share of all lies; zero of none.
pub(crate) fn percentile<T: Ord + Copy + Default>(values: &[T], percent: usize) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

pub(crate) fn median<T: Ord + Copy + Default>(values: &[T]) -> T {
    percentile(values, 50)
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    let kilobytes = u32::try_from(bytes / 1000).unwrap_or(u32::MAX);
    f64::from(kilobytes) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u32> = (1..=300).rev().collect();
        assert_eq!((median(&values), percentile(&values, 99), percentile(&values, 100)), (150, 297, 300));
        assert_eq!((median(&[3, 1, 2]), median(&[7]), median::<u32>(&[])), (2, 7, 0));
    }

    #[test]
    fn a_figure_is_one_line() {
        let (name, unit, goal) = ("first-sync".to_owned(), "s", "1.5");
        let figure = Figure { name, value: 1.234, unit, peer: 1.0, ratio: 1.234, goal };
        assert_eq!(figure.to_string(), "figure first-sync = 1.23 s (peer 1.00, ratio 1.23, goal 1.5)");
        let share = Figure { value: 216.0, unit: "B", peer: 12_000.0, ratio: 0.018, goal: "0.02", ..figure };
        assert_eq!(
            share.to_string(),
            "figure first-sync = 216.00 B (peer 12000.00, ratio 0.0180, goal 0.02)"
        );
    }
}
