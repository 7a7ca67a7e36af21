//! Durations as kubectl prints them: two or three significant figures.

use jiff::{SignedDuration, Timestamp};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Cell of an unknown time.
pub(crate) const UNKNOWN: &str = "<unknown>";

/// Formats a duration as kubectl does: `47s`, `5m10s`, `3d4h`, `2y17d`.
pub fn human_duration(duration: SignedDuration) -> String {
    // The clocks of two machines differ a little.
    const TOLERANCE: i64 = -1;
    match duration.as_secs() {
        ..TOLERANCE => "<invalid>".to_owned(),
        secs @ TOLERANCE..=0 => format!("{}s", secs.max(0)),
        secs if secs < 2 * MINUTE => format!("{secs}s"),
        secs if secs < 10 * MINUTE => two_units(secs, (MINUTE, 'm'), (1, 's')),
        secs if secs < 3 * HOUR => format!("{}m", secs / MINUTE),
        secs if secs < 8 * HOUR => two_units(secs, (HOUR, 'h'), (MINUTE, 'm')),
        secs if secs < 2 * DAY => format!("{}h", secs / HOUR),
        secs if secs < 8 * DAY => two_units(secs, (DAY, 'd'), (HOUR, 'h')),
        secs if secs < 2 * YEAR => format!("{}d", secs / DAY),
        secs if secs < 8 * YEAR => two_units(secs, (YEAR, 'y'), (DAY, 'd')),
        secs => format!("{}y", secs / YEAR),
    }
}

/// Omits the smaller unit if it is zero.
fn two_units(secs: i64, (large, large_name): (i64, char), (small, small_name): (i64, char)) -> String {
    match secs % large / small {
        0 => format!("{}{large_name}", secs / large),
        rest => format!("{}{large_name}{rest}{small_name}", secs / large),
    }
}

/// Age of a timestamp of an object, or `<unknown>` without one.
pub fn since(now: Timestamp, time: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human_duration(now.duration_since(then)),
        Err(_) => UNKNOWN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_or_three_figures() {
        for (secs, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (310, "5m10s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (7 * HOUR + 59 * MINUTE + 59, "7h59m"),
            (8 * HOUR + 59 * MINUTE, "8h"),
            (47 * HOUR, "47h"),
            (48 * HOUR, "2d"),
            (3 * DAY + 4 * HOUR, "3d4h"),
            (8 * DAY + 5 * HOUR, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (2 * YEAR + 17 * DAY, "2y17d"),
            (8 * YEAR + 17 * DAY, "8y"),
        ] {
            assert_eq!(human_duration(SignedDuration::from_secs(secs)), expected, "{secs} s");
        }
    }

    #[test]
    fn a_time_that_is_missing_is_unknown() {
        let now = "2026-11-16T02:00:00.5Z".parse().unwrap();
        assert_eq!(since(now, "2026-11-16T01:58:00Z"), "2m");
        assert_eq!(since(now, "2026-11-16T01:58:30.400000Z"), "90s");
        assert_eq!(since(now, ""), "<unknown>");
    }
}
