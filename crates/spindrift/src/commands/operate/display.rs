//! Output of a command that runs in one or several accounts.
//!
//! One account: kubectl's own lines. Several accounts: on a terminal, a live line for each running account, which
//! becomes one line with its result; in a pipe and for streams, every line begins with its account.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::commands::Context;

/// Display of several accounts on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisplayMode {
    /// One live line for each account.
    Progress,
    /// All lines of all accounts, as they arrive.
    Stream,
}

/// Display of all accounts of a command.
pub(crate) struct ProgressDisplay {
    style: LineStyle,
    /// Length of the longest account name.
    widest: usize,
    color: bool,
}

#[derive(Clone)]
enum LineStyle {
    /// As kubectl: without the account.
    One,
    /// Each line begins with its account.
    Plain,
    Live(MultiProgress),
}

/// Output of one account.
pub(crate) struct AccountLine {
    account: String,
    style: LineStyle,
    widest: usize,
    /// Shown only while the account is running.
    bar: Option<ProgressBar>,
    failed: Cell<bool>,
    summary: RefCell<LineSummary>,
}

/// Summary that replaces a live line at its end.
#[derive(Default)]
struct LineSummary {
    last: Option<String>,
    /// Number of objects for each result: 2 created, 1 configured.
    words: BTreeMap<String, usize>,
}

/// Interval of the spinner.
const REFRESH: Duration = Duration::from_millis(120);

// === impl ProgressDisplay ===

impl ProgressDisplay {
    pub(crate) fn new(accounts: &[String], view: DisplayMode, context: &Context) -> Self {
        let live = view == DisplayMode::Progress
            && io::stdout().is_terminal()
            && io::stderr().is_terminal()
            && !context.quiet;
        let style = match accounts {
            [_] => LineStyle::One,
            // Live lines go to stderr, so that stdout has only the results.
            _ if live => LineStyle::Live(MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            _ => LineStyle::Plain,
        };
        let widest = accounts.iter().map(String::len).max().unwrap_or_default();
        Self { style, widest, color: context.color }
    }

    /// Starts the output of an account.
    pub(crate) fn line(&self, account: &str) -> AccountLine {
        let bar = match &self.style {
            LineStyle::Live(screen) => {
                let bar = screen.add(bar(account, self.widest, self.color));
                // Only after it is added: before, it would draw outside of the screen.
                bar.enable_steady_tick(REFRESH);
                Some(bar)
            }
            _ => None,
        };
        AccountLine {
            account: account.to_owned(),
            style: self.style.clone(),
            widest: self.widest,
            bar,
            failed: Cell::new(false),
            summary: RefCell::default(),
        }
    }

    /// Removes all live lines.
    pub(crate) fn hide(&self) {
        if let LineStyle::Live(screen) = &self.style {
            // A closed terminal need not be cleared.
            screen.clear().ok();
            screen.set_draw_target(ProgressDrawTarget::hidden());
        }
    }
}

fn bar(account: &str, widest: usize, color: bool) -> ProgressBar {
    let color = if color { ".cyan" } else { "" };
    let template = format!("{{prefix:{widest}}}  {{spinner{color}}} {{wide_msg}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_prefix(account.to_owned())
}

// === impl AccountLine ===

impl AccountLine {
    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    /// Whether the command runs in several accounts.
    pub(crate) fn is_one_of_several(&self) -> bool {
        !matches!(self.style, LineStyle::One)
    }

    /// Sets the activity of a live line.
    pub(crate) fn set_activity(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// Reports a changed object by its line; `word` counts in the summary.
    pub(crate) fn done(&self, line: &str, word: &str) -> io::Result<()> {
        *self.summary.borrow_mut().words.entry(word.to_owned()).or_default() += 1;
        self.progress(line)
    }

    /// Reports progress.
    pub(crate) fn progress(&self, line: &str) -> io::Result<()> {
        match &self.bar {
            Some(bar) => {
                bar.set_message(line.to_owned());
                self.summary.borrow_mut().last = Some(line.to_owned());
                Ok(())
            }
            None => self.print(line),
        }
    }

    /// Prints requested output, line by line.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        let mut lines = String::new();
        for line in text.lines() {
            lines.extend([&*self.labelled(line), "\n"]);
        }
        self.print_raw(&lines)
    }

    /// Line with the account, if there are several.
    pub(crate) fn labelled(&self, line: &str) -> String {
        match self.style {
            LineStyle::One => line.to_owned(),
            _ => format!("{:widest$}  {line}", self.account, widest = self.widest),
        }
    }

    /// Prints a text without the account.
    pub(crate) fn print_raw(&self, text: &str) -> io::Result<()> {
        self.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    /// Prints a note on stderr, such as a warning of the API server.
    pub(crate) fn note(&self, text: &str) {
        let text = match self.style {
            LineStyle::One => text.to_owned(),
            _ => format!("{}: {text}", self.account),
        };
        self.suspend(|| eprintln!("{text}"));
    }

    /// Reports a failure; the remaining steps continue.
    pub(crate) fn fail(&self, text: &str) {
        self.failed.set(true);
        *self.summary.borrow_mut().words.entry("failed".to_owned()).or_default() += 1;
        // Some messages of API servers end with a line break.
        self.note(text.strip_suffix('\n').unwrap_or(text));
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Replaces the live line by its summary.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let Some(bar) = &self.bar else { return Ok(()) };
        bar.finish_and_clear();
        match self.summary.take().sum() {
            Some(sum) => self.print(&sum),
            None => Ok(()),
        }
    }

    /// Hides the live lines while something is written.
    fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.style {
            LineStyle::Live(screen) => screen.suspend(write),
            _ => write(),
        }
    }
}

// === impl LineSummary ===

impl LineSummary {
    /// One line for all objects: the only one, or the count of each result.
    fn sum(self) -> Option<String> {
        let Self { last, words } = self;
        let all: usize = words.values().sum();
        if all <= 1 {
            return last;
        }
        let counted: Vec<_> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
        Some(counted.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_line_becomes_its_only_result_or_a_count() {
        let sum = |words: &[(&str, usize)], last: Option<&str>| {
            let words = words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect();
            LineSummary { last: last.map(str::to_owned), words }.sum()
        };
        assert_eq!(sum(&[], None), None);
        assert_eq!(sum(&[], Some("2 of 3 available")).unwrap(), "2 of 3 available");
        assert_eq!(sum(&[("scaled", 1)], Some("deploy/web scaled")).unwrap(), "deploy/web scaled");
        let words = [("unchanged", 2), ("created", 1)];
        assert_eq!(sum(&words, Some("x")).unwrap(), "1 created, 2 unchanged");
        assert_eq!(sum(&[("failed", 1)], None), None, "said already");
    }
}
