//! Rate of events.

use std::collections::VecDeque;

/// Events per second, of the last minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    /// The newest second is last.
    seconds: VecDeque<u32>,
    newest: i64,
}

/// Seconds of history.
pub(super) const HISTORY: u16 = 60;
const SECONDS: usize = HISTORY as usize;

/// The rate is a mean of ten seconds: long enough to be steady, short enough to be current; their sum is in tenths.
const MEAN: usize = 10;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

// === impl Rate ===

impl Rate {
    /// Counts one event of this second.
    pub(super) fn count(&mut self, second: i64) {
        self.advance(second);
        if let Some(last) = self.seconds.back_mut() {
            *last = last.saturating_add(1);
        }
    }

    /// Tenths of events per second now, without the current second.
    pub(super) fn tenths(&self, second: i64) -> u64 {
        self.until(second).iter().rev().skip(1).take(MEAN).map(|count| u64::from(*count)).sum()
    }

    /// Last minute as bars, the newest at the right; blank for seconds without events.
    pub(super) fn bars(&self, second: i64, width: usize) -> String {
        let seconds = self.until(second);
        let width = width.clamp(1, SECONDS);
        let sums: Vec<u32> =
            seconds.chunks(SECONDS.div_ceil(width)).map(|chunk| chunk.iter().sum()).collect();
        let highest = sums.iter().copied().max().unwrap_or_default().max(1);
        let bar = |sum: &u32| match sum {
            0 => ' ',
            sum => {
                let height = (u64::from(*sum) * 8).div_ceil(u64::from(highest)).clamp(1, 8);
                BARS.get(usize::try_from(height - 1).unwrap_or_default()).copied().unwrap_or(' ')
            }
        };
        sums.iter().map(bar).collect()
    }

    fn advance(&mut self, second: i64) {
        let gap = usize::try_from(second.saturating_sub(self.newest)).unwrap_or_default();
        if self.seconds.is_empty() {
            self.seconds.push_back(0);
        } else {
            self.seconds.extend(std::iter::repeat_n(0, gap.min(SECONDS)));
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
        self.newest = self.newest.max(second);
    }

    /// Counts of the minute that ends in this second.
    fn until(&self, second: i64) -> Vec<u32> {
        let gap = usize::try_from(second.saturating_sub(self.newest)).unwrap_or_default().min(SECONDS);
        let kept = self.seconds.iter().copied().skip((self.seconds.len() + gap).saturating_sub(SECONDS));
        let mut seconds: Vec<u32> = kept.chain(std::iter::repeat_n(0, gap)).collect();
        let missing = SECONDS.saturating_sub(seconds.len());
        seconds.splice(0..0, std::iter::repeat_n(0, missing));
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_mean_of_the_last_seconds_and_fades() {
        let mut rate = Rate::default();
        for second in 100..120 {
            for _ in 0..5 {
                rate.count(second);
            }
        }
        assert_eq!([120, 125, 1_000_000].map(|second| rate.tenths(second)), [50, 25, 0]);
    }

    #[test]
    fn bars_show_the_last_minute_with_the_newest_at_the_right() {
        let mut rate = Rate::default();
        for _ in 0..8 {
            rate.count(1000);
        }
        rate.count(1010);
        assert_eq!(rate.bars(1010, 6), "    █▁");
        assert_eq!(rate.bars(1040, 6), " █▁   ");
        assert_eq!(rate.bars(1010, 60).chars().count(), 60);
        assert_eq!(rate.bars(9999, 6), "      ");
        assert_eq!(Rate::default().bars(5, 10), " ".repeat(10));
    }

    #[test]
    fn a_clock_that_jumps_back_loses_nothing() {
        let mut rate = Rate::default();
        rate.count(100);
        rate.count(90);
        assert_eq!(rate.bars(100, 60).trim(), "█");
    }
}
