//! Difference between two clocks.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};

use super::{Line, certificate::in_words};

/// Tokens and certificates are valid within minutes: this much is tolerated nearly everywhere.
const TOLERABLE: Duration = Duration::from_mins(1);

/// From here on credentials are refused in places.
const INTOLERABLE: Duration = Duration::from_mins(5);

/// Reads the `Date` of an HTTP answer.
pub fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::parse(text.trim()).ok().map(|date| date.timestamp())
}

/// Compares the clock of `whose` (such as "the API server") with ours.
pub fn clock(whose: &str, theirs: Timestamp, ours: Timestamp) -> Line {
    const CHECK: &str = "clock";
    let ahead = theirs.duration_since(ours);
    let apart = ahead.unsigned_abs();
    // Dates of HTTP have no fractions of a second.
    if apart < Duration::from_secs(2) {
        return Line::ok(CHECK, format!("as {whose} has it"));
    }
    let direction = if ahead > SignedDuration::ZERO { "ahead of" } else { "behind" };
    // To the nearest minute, and not to the one before.
    let shown = if apart < TOLERABLE { apart } else { apart + TOLERABLE / 2 };
    let found = format!("the clock of {whose} is {} {direction} the one here", in_words(shown));
    let remedy = format!(
        "set both clocks by NTP: it is {ours:.0} here and {theirs:.0} there, and tokens and certificates are judged by time"
    );
    match apart {
        _ if apart > INTOLERABLE => Line::wrong(CHECK, found, remedy),
        _ if apart > TOLERABLE => Line::warn(CHECK, found, remedy),
        _ => Line::ok(CHECK, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::State;

    #[test]
    fn minutes_apart_are_told_from_seconds() {
        let ours = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let line = |seconds: i64| clock("the hub", ours + SignedDuration::from_secs(seconds), ours);
        for (seconds, state) in [
            (1, State::Ok),
            (59, State::Ok),
            (-61, State::Warn),
            (299, State::Warn),
            (301, State::Wrong),
            (-600, State::Wrong),
        ] {
            assert_eq!(line(seconds).state, state, "{seconds}");
        }
        for seconds in [-599, -600, -601] {
            assert_eq!(line(seconds).found, "the clock of the hub is 10 minutes behind the one here");
        }
        assert_eq!(http_date("yesterday"), None);
    }
}
