//! When something is done by the clock: cron as Spring writes it, with seconds first, in UTC.

use std::{collections::BTreeSet, ops::RangeInclusive, str::FromStr};

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

/// Second, minute, hour, day of month, month, day of week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    seconds: BTreeSet<i8>,
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    months: BTreeSet<i8>,
    /// 0 is Sunday.
    weekdays: BTreeSet<i8>,
}

/// A text that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected second, minute, hour, day of month, month and day of week, such as \"0 0 0 * * 0\"; {problem}"
)]
pub(crate) struct InvalidSchedule {
    problem: String,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * 0"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

/// The longest that a day can be away: from one 29 February to the next, over 2100.
const DAYS_AHEAD: i32 = 8 * 366;

// === impl Schedule ===

impl Schedule {
    /// The first moment after this one; none if there is no such day, such as 30 February.
    pub(crate) fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let now = TimeZone::UTC.to_datetime(now);
        let mut date = now.date();
        for _ in 0..DAYS_AHEAD {
            if self.has_day(date)
                && let Some(time) = self.times().find(|time| DateTime::from_parts(date, *time) > now)
            {
                return TimeZone::UTC.to_timestamp(DateTime::from_parts(date, time)).ok();
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        self.months.contains(&date.month())
            && self.days.contains(&date.day())
            && self.weekdays.contains(&weekday)
    }

    fn times(&self) -> impl Iterator<Item = Time> {
        self.hours.iter().flat_map(move |hour| {
            self.minutes.iter().flat_map(move |minute| {
                self.seconds.iter().filter_map(move |second| Time::new(*hour, *minute, *second, 0).ok())
            })
        })
    }
}

impl FromStr for Schedule {
    type Err = InvalidSchedule;
    fn from_str(text: &str) -> Result<Self, InvalidSchedule> {
        let text = text.trim();
        let spelled_out = MACROS.iter().find(|(name, _)| *name == text).map_or(text, |(_, meaning)| meaning);
        let fields: Vec<_> = spelled_out.split_whitespace().collect();
        let Ok([second, minute, hour, day, month, weekday]) = <[&str; 6]>::try_from(fields) else {
            return Err(InvalidSchedule { problem: format!("found {text:?}") });
        };
        let mut weekdays = field("day of week", weekday, 0..=7, &WEEKDAYS, 0)?;
        if weekdays.remove(&7) {
            weekdays.insert(0);
        }
        Ok(Self {
            seconds: field("second", second, 0..=59, &[], 0)?,
            minutes: field("minute", minute, 0..=59, &[], 0)?,
            hours: field("hour", hour, 0..=23, &[], 0)?,
            days: field("day of month", day, 1..=31, &[], 1)?,
            months: field("month", month, 1..=12, &MONTHS, 1)?,
            weekdays,
        })
    }
}

/// `*`, `?`, `5`, `1-5`, `MON-FRI`, `*/10`, `5/10`, `1-30/2`, joined by commas.
fn field(
    name: &str,
    text: &str,
    range: RangeInclusive<i8>,
    names: &[&str],
    first_name: i8,
) -> Result<BTreeSet<i8>, InvalidSchedule> {
    let invalid = || InvalidSchedule { problem: format!("{name}: {text:?} is not understood") };
    let number = |text: &str| {
        let by_name = names.iter().zip(first_name..).find(|(known, _)| known.eq_ignore_ascii_case(text));
        let number = by_name.map(|(_, number)| number).or_else(|| text.parse().ok());
        number.filter(|number| range.contains(number))
    };
    let mut values = BTreeSet::new();
    for part in text.split(',') {
        let (span, step) = part.split_once('/').map_or((part, None), |(span, step)| (span, Some(step)));
        let step: usize = step.unwrap_or("1").parse().ok().filter(|step| *step > 0).ok_or_else(invalid)?;
        let (from, to) = match span.split_once('-') {
            _ if span == "*" || span == "?" => (*range.start(), *range.end()),
            Some((from, to)) => (number(from).ok_or_else(invalid)?, number(to).ok_or_else(invalid)?),
            None => {
                let from = number(span).ok_or_else(invalid)?;
                (from, if part.contains('/') { *range.end() } else { from })
            }
        };
        if from > to {
            return Err(invalid());
        }
        values.extend((from..=to).step_by(step));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, now: &str) -> Option<String> {
        let schedule: Schedule = schedule.parse().unwrap();
        schedule.next_after(now.parse().unwrap()).map(|next| next.to_string())
    }

    #[test]
    fn the_next_moment_is_found() {
        for (schedule, now, expected) in [
            // 15 November 2026 is a Sunday.
            ("0 0 0 * * 0", "2026-11-14T23:59:59Z", "2026-11-15T00:00:00Z"),
            ("0 0 0 * * 0", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("0 0 0 * * 7", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("@weekly", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("0 */10 * * * *", "2026-11-15T10:01:00Z", "2026-11-15T10:10:00Z"),
            ("30 5/20 8-10 ? * MON-FRI", "2026-11-15T10:01:00Z", "2026-11-16T08:05:30Z"),
            ("0 0 12 1,15 jan *", "2026-11-15T10:01:00Z", "2027-01-01T12:00:00Z"),
            ("0 0 0 29 2 *", "2026-11-15T10:01:00Z", "2028-02-29T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, now).as_deref(), Some(expected), "{schedule} after {now}");
        }
        assert_eq!(next("0 0 0 30 2 *", "2026-11-15T10:01:00Z"), None);
    }

    #[test]
    fn what_is_no_schedule_is_said_to_be_none() {
        for (text, problem) in [
            ("0 0 * * 0", "found \"0 0 * * 0\""),
            ("0 0 24 * * 0", "hour: \"24\" is not understood"),
            ("0 0 0 L * 0", "day of month: \"L\" is not understood"),
            ("0 0 0 * * 5-1", "day of week: \"5-1\" is not understood"),
            ("0 */0 0 * * *", "minute: \"*/0\" is not understood"),
        ] {
            assert!(text.parse::<Schedule>().unwrap_err().to_string().ends_with(problem), "{text}");
        }
    }
}
