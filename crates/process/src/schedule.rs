//! Cron schedules in UTC: six fields as Spring has them, five as CronJobs have them.

use std::{collections::BTreeSet, ops::RangeInclusive};

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

/// Points in time that recur, to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    seconds: BTreeSet<i8>,
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    months: BTreeSet<i8>,
    /// 0 is Sunday.
    weekdays: BTreeSet<i8>,
    /// Set if either the day of the month or the day of the week is enough, as in cron where both are restricted.
    either_day: bool,
}

/// Error for a text that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}; {problem}")]
pub struct InvalidSchedule {
    expected: &'static str,
    problem: String,
}

const SPRING: &str = "second, minute, hour, day of month, month and day of week, such as \"0 0 0 * * 0\"";
const CRON: &str = "minute, hour, day of month, month and day of week, such as \"0 0 * * 0\"";

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Shorthands, in five fields.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Longest distance of a day: from one 29 February to the next, over 2100.
const DAYS_AHEAD: i32 = 8 * 366;

// === impl Schedule ===

impl Schedule {
    /// Parses Spring's six fields, with seconds first. A day must match both of its fields.
    pub fn spring(text: &str) -> Result<Self, InvalidSchedule> {
        let invalid = |problem| InvalidSchedule { expected: SPRING, problem };
        let text = text.trim();
        if let Some(fields) = expand_macro(text) {
            return Self::parse("0", fields, false).map_err(invalid);
        }
        let fields: Vec<_> = text.split_whitespace().collect();
        let Ok([second, fields @ ..]) = <[&str; 6]>::try_from(fields) else {
            return Err(invalid(format!("found {text:?}")));
        };
        Self::parse(second, fields, false).map_err(invalid)
    }

    /// Parses the five fields of a CronJob. If both fields of a day are restricted, one that matches is enough.
    pub fn cron(text: &str) -> Result<Self, InvalidSchedule> {
        let invalid = |problem| InvalidSchedule { expected: CRON, problem };
        let text = text.trim();
        let fields = expand_macro(text).or_else(|| {
            let fields: Vec<_> = text.split_whitespace().collect();
            <[&str; 5]>::try_from(fields).ok()
        });
        let Some(fields) = fields else { return Err(invalid(format!("found {text:?}"))) };
        let [_, _, day, _, weekday] = fields;
        Self::parse("0", fields, !day.starts_with('*') && !weekday.starts_with('*')).map_err(invalid)
    }

    fn parse(second: &str, fields: [&str; 5], either_day: bool) -> Result<Self, String> {
        let [minute, hour, day, month, weekday] = fields;
        let mut weekdays = field("day of week", weekday, 0..=7, &WEEKDAYS, 0)?;
        // Both 0 and 7 are Sunday.
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
            either_day,
        })
    }

    /// Returns the first time after this one; none if there is no such day, such as 30 February.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = TimeZone::UTC.to_datetime(after);
        let mut date = after.date();
        for _ in 0..DAYS_AHEAD {
            let start = if date == after.date() { after.time() } else { Time::midnight() };
            let mut times = self.times_from(start).map(move |time| DateTime::from_parts(date, time));
            if self.has_day(date)
                && let Some(next) = times.find(|time| *time > after)
            {
                return TimeZone::UTC.to_timestamp(next).ok();
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    /// Returns the last time after `after` and not after `until`, at most an hour before `until`, to be quick.
    pub fn last_between(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let from = after.max(until.checked_sub(61.minutes()).ok()?);
        let mut last = None;
        let mut next = self.next_after(from);
        while let Some(due) = next.filter(|due| *due <= until) {
            last = Some(due);
            next = self.next_after(due);
        }
        last
    }

    fn has_day(&self, date: Date) -> bool {
        let of_month = self.days.contains(&date.day());
        let of_week = self.weekdays.contains(&date.weekday().to_sunday_zero_offset());
        let day = if self.either_day { of_month || of_week } else { of_month && of_week };
        day && self.months.contains(&date.month())
    }

    /// Returns the times of a day from this one's minute on.
    fn times_from(&self, start: Time) -> impl Iterator<Item = Time> {
        self.hours.range(start.hour()..).flat_map(move |hour| {
            let first = if *hour == start.hour() { start.minute() } else { 0 };
            self.minutes.range(first..).flat_map(move |minute| {
                self.seconds.iter().filter_map(move |second| Time::new(*hour, *minute, *second, 0).ok())
            })
        })
    }
}

fn expand_macro(text: &str) -> Option<[&'static str; 5]> {
    let (_, meaning) = MACROS.iter().find(|(name, _)| *name == text)?;
    <[&str; 5]>::try_from(meaning.split_whitespace().collect::<Vec<_>>()).ok()
}

/// Parses `*`, `?`, `5`, `1-5`, `MON-FRI`, `*/10`, `5/10`, `1-30/2`, joined by commas.
fn field(
    name: &str,
    text: &str,
    range: RangeInclusive<i8>,
    names: &[&str],
    first_name: i8,
) -> Result<BTreeSet<i8>, String> {
    let invalid = || format!("{name}: {text:?} is not understood");
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

    fn next(schedule: &Schedule, now: &str) -> Option<String> {
        schedule.next_after(now.parse().unwrap()).map(|next| next.to_string())
    }

    #[test]
    fn the_next_time_in_six_fields_is_found() {
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
            let parsed = Schedule::spring(schedule).unwrap();
            assert_eq!(next(&parsed, now).as_deref(), Some(expected), "{schedule} after {now}");
        }
        assert_eq!(next(&Schedule::spring("0 0 0 30 2 *").unwrap(), "2026-11-15T10:01:00Z"), None);
    }

    #[test]
    fn the_next_time_in_five_fields_is_found() {
        let start = "2026-02-27T23:58:30Z";
        for (schedule, expected) in [
            ("* * * * *", "2026-02-27T23:59:00Z"),
            ("*/5 * * * *", "2026-02-28T00:00:00Z"),
            ("30 4 * * *", "2026-02-28T04:30:00Z"),
            ("0 0 1 * *", "2026-03-01T00:00:00Z"),
            ("0 12 * * 1-5", "2026-03-02T12:00:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
            ("0 0 13 * 0", "2026-03-01T00:00:00Z"),
            ("0 0 * * 7", "2026-03-01T00:00:00Z"),
            ("@hourly", "2026-02-28T00:00:00Z"),
        ] {
            let parsed = Schedule::cron(schedule).unwrap();
            assert_eq!(next(&parsed, start).as_deref(), Some(expected), "{schedule}");
        }
    }

    #[test]
    fn the_last_time_between_two_others_is_found() {
        let between = |after: &str, until: &str| {
            let every_ten = Schedule::cron("*/10 * * * *").unwrap();
            let last = every_ten.last_between(after.parse().unwrap(), until.parse().unwrap());
            last.map(|last| last.to_string())
        };
        let last = between("2026-02-27T10:00:00Z", "2026-02-27T10:25:00Z");
        assert_eq!(last.as_deref(), Some("2026-02-27T10:20:00Z"));
        assert_eq!(between("2026-02-27T10:00:00Z", "2026-02-27T10:09:59Z"), None);
    }

    #[test]
    fn an_invalid_schedule_is_rejected_with_the_field() {
        for (text, problem) in [
            ("0 0 * * 0", "found \"0 0 * * 0\""),
            ("0 0 24 * * 0", "hour: \"24\" is not understood"),
            ("0 0 0 L * 0", "day of month: \"L\" is not understood"),
            ("0 0 0 * * 5-1", "day of week: \"5-1\" is not understood"),
            ("0 */0 0 * * *", "minute: \"*/0\" is not understood"),
        ] {
            let error = Schedule::spring(text).unwrap_err().to_string();
            assert!(error.starts_with("expected second, ") && error.ends_with(problem), "{text}: {error}");
        }
        for text in ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"] {
            assert!(Schedule::cron(text).is_err(), "{text}");
        }
    }
}
