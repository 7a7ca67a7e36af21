//! Schedules in five fields, in UTC.

use jiff::{Timestamp, ToSpan, civil::DateTime, tz::TimeZone};

/// Which minutes, hours, days, months and days of the week; bit n stands for the number n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both kinds of days are restricted: then either is enough.
    either_day: bool,
}

/// The furthest that is looked ahead: the 29th of February may be eight years away.
const HORIZON: i32 = 366 * 9;

// === impl Schedule ===

impl Schedule {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else { return None };
        let sunday_twice = field(weekdays, 0, 7)?;
        Some(Self {
            minutes: field(minutes, 0, 59)?,
            hours: field(hours, 0, 23)?,
            days: field(days, 1, 31)?,
            months: field(months, 1, 12)?,
            // Both 0 and 7 are Sunday.
            weekdays: sunday_twice | (sunday_twice >> 7),
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

    /// The first time that is due after this one.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let start = after.to_zoned(TimeZone::UTC).datetime();
        let mut at =
            start.with().second(0).subsec_nanosecond(0).build().ok()?.checked_add(1.minute()).ok()?;
        let last = at.checked_add(HORIZON.days()).ok()?;
        while at < last {
            if !self.is_day(at) {
                at = at.date().tomorrow().ok()?.to_datetime(jiff::civil::Time::midnight());
            } else if self.hours & (1 << at.hour()) == 0 {
                at = at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?;
            } else if self.minutes & (1 << at.minute()) == 0 {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return at.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
            }
        }
        None
    }

    /// The last time that was due after the one and not after the other; of an hour at most, to be quick.
    pub(super) fn last_between(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let from = after.max(until.checked_sub(61.minutes()).ok()?);
        let mut last = None;
        let mut next = self.next_after(from);
        while let Some(due) = next.filter(|due| *due <= until) {
            last = Some(due);
            next = self.next_after(due);
        }
        last
    }

    fn is_day(&self, at: DateTime) -> bool {
        let of_month = self.days & (1 << at.day()) != 0;
        let of_week = self.weekdays & (1 << at.weekday().to_sunday_zero_offset()) != 0;
        let day = if self.either_day { of_month || of_week } else { of_month && of_week };
        day && self.months & (1 << at.month()) != 0
    }
}

/// The numbers of one field, such as `*/5`, `1-5`, `0,30` or `10-20/2`.
fn field(text: &str, least: u32, most: u32) -> Option<u64> {
    let mut numbers = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (least, most),
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None if part.contains('/') => (range.parse().ok()?, most),
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        if from < least || to > most || from > to {
            return None;
        }
        for number in (from..=to).step_by(step) {
            numbers |= 1 << number;
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule = Schedule::parse(schedule).expect("a schedule");
        schedule.next_after(after.parse().unwrap()).expect("a next time").to_string()
    }

    #[test]
    fn the_next_time_is_found() {
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
            assert_eq!(next(schedule, start), expected, "{schedule}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for schedule in ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"] {
            assert_eq!(Schedule::parse(schedule), None, "{schedule}");
        }
    }
}
