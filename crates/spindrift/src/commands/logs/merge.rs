//! Lines of several logs, sorted by time.

use std::io::Write;

use jiff::Timestamp;

/// Lines of several pods and accounts. Lines without a time follow the line before them.
#[derive(Debug, Default)]
pub(super) struct MergedLines {
    lines: Vec<LogLine>,
}

#[derive(Debug)]
struct LogLine {
    time: Timestamp,
    /// Time as the API server wrote it.
    stamp: String,
    /// Beginning of the printed line: account and pod.
    label: String,
    text: String,
}

// === impl MergedLines ===

impl MergedLines {
    /// Adds a line that begins with its time; `labelled` adds the account and the pod.
    pub(super) fn add(&mut self, line: &str, labelled: impl Fn(&str) -> String) {
        let (stamp, text) = line.split_once(' ').unwrap_or((line, ""));
        let label = labelled("");
        if let Ok(time) = stamp.parse() {
            let (stamp, text) = (stamp.to_owned(), text.to_owned());
            self.lines.push(LogLine { time, stamp, label, text });
        } else {
            // Such as an error of the kubelet within a log.
            let time = self.lines.last().map_or(Timestamp::MIN, |line| line.time);
            self.lines.push(LogLine { time, stamp: String::new(), label, text: line.to_owned() });
        }
    }

    /// Prints the lines, with their times if requested.
    pub(super) fn print(self, timestamps: bool) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for line in self.sorted(timestamps) {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }

    fn sorted(mut self, timestamps: bool) -> impl Iterator<Item = String> {
        // Stable: lines of one pod stay in their order.
        self.lines.sort_by_key(|line| line.time);
        self.lines.into_iter().map(move |LogLine { stamp, label, text, .. }| {
            if timestamps && !stamp.is_empty() {
                format!("{label}{stamp} {text}")
            } else {
                format!("{label}{text}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_logs_are_sorted_by_time() {
        let lines = || {
            let mut merged = MergedLines::default();
            for (label, line) in [
                ("eu  ", "2026-11-16T01:00:01.5Z second"),
                ("eu  ", "2026-11-16T01:00:03Z fourth with  blanks"),
                ("us  ", "2026-11-16T01:00:01.25Z first"),
                ("us  ", "2026-11-16T01:00:02Z third"),
                ("us  ", "no time"),
            ] {
                merged.add(line, |text| format!("{label}{text}"));
            }
            merged
        };
        let plain: Vec<_> = lines().sorted(false).collect();
        assert_eq!(plain, ["us  first", "eu  second", "us  third", "us  no time", "eu  fourth with  blanks"]);
        assert_eq!(lines().sorted(true).next().unwrap(), "us  2026-11-16T01:00:01.25Z first");
    }
}
