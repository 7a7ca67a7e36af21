//! Preflight check: one page of results, with a remedy for each problem.
//!
//! ```text
//! configuration ─▶ sections of the daemon ─▶ Report ─▶ render: text or JSON ─▶ exit code
//!                  reach ─▶ tls ─▶ greeting ─▶ grpc       (probes: each has a deadline, none changes anything)
//! ```
//!
//! The names of sections and checks, and the fields of the JSON, are for scripts too: they only ever grow.

use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

pub mod certificate;
pub mod clock;
mod configuration;
pub mod greeting;
pub mod grpc;
pub mod port;
pub mod reach;
mod render;
pub mod tls;

#[cfg(test)]
mod tests;

pub use self::configuration::configuration;

/// Deadline of one step: longer than a handshake over a bad line, shorter than an operator would wait.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Report of a daemon's check.
#[derive(Debug, Clone)]
pub struct Report {
    program: &'static str,
    version: &'static str,
    sections: Vec<Section>,
}

/// Results for one subject: the configuration, an account, the hub, the database.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    name: String,
    checks: Vec<Line>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Name of the check: a short word that stays the same over releases.
    pub check: &'static str,
    /// Its state.
    pub state: State,
    /// Finding, or the reason for which it was skipped.
    pub found: String,
    /// Remedy.
    pub remedy: Option<String>,
}

/// State of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Not looked at, because something before it is wrong or absent.
    Skipped,
    /// It works, but should be looked after.
    Warn,
    /// It does not work.
    Wrong,
}

/// In which form the page is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
}

/// Part of the page that is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All lines.
    Everything,
    /// Only warnings and failures.
    Problems,
}

// === impl Report ===

impl Report {
    /// Starts an empty page.
    pub fn new(program: &'static str, version: &'static str) -> Self {
        Self { program, version, sections: Vec::new() }
    }

    /// Adds a section at the end.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Gives the worst state of all lines; skipped ones count as good.
    pub fn verdict(&self) -> State {
        let states = self.lines().map(|line| line.state).filter(|state| *state > State::Skipped);
        states.max().unwrap_or(State::Ok)
    }

    /// Prints the page and ends the process: with 1 if something is wrong, else with 0.
    ///
    /// It does not return to the runtime, which would wait for name lookups and credential plugins that outlived their
    /// deadline.
    pub fn finish(&self, format: Format, extent: Extent) -> ! {
        let stdout = io::stdout();
        let colours = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let page = match format {
            Format::Text => self.text(extent, colours),
            Format::Json => self.json(extent),
        };
        // A reader that has gone away has read enough.
        let printed = stdout.lock().write_all(page.as_bytes()).and_then(|()| io::stdout().flush());
        drop(printed);
        std::process::exit(i32::from(self.verdict() == State::Wrong))
    }

    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.sections.iter().flat_map(|section| &section.checks)
    }
}

// === impl Section ===

impl Section {
    /// Starts an empty section.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), checks: Vec::new() }
    }

    /// Adds a line at the end.
    pub fn push(&mut self, line: Line) {
        self.checks.push(line);
    }

    /// Adds a check that passed.
    pub fn ok(&mut self, check: &'static str, found: impl Into<String>) {
        self.push(Line::ok(check, found));
    }

    /// Adds a check that failed.
    pub fn wrong(&mut self, check: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.push(Line::wrong(check, found, remedy));
    }

    /// Adds a warning.
    pub fn warn(&mut self, check: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.push(Line::warn(check, found, remedy));
    }

    /// Adds checks that were skipped, all for the same reason.
    pub fn skip(&mut self, checks: &[&'static str], because: &str) {
        for check in checks {
            self.push(Line {
                check,
                state: State::Skipped,
                found: format!("because {because}"),
                remedy: None,
            });
        }
    }
}

// === impl Line ===

impl Line {
    /// Returns a line for a check that passed.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Ok, found: found.into(), remedy: None }
    }

    /// Returns a line for a warning.
    pub fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Returns a line for a failed check, with its remedy.
    pub fn wrong(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Wrong, found: found.into(), remedy: Some(remedy.into()) }
    }
}

// === impl Format ===

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("unknown format `{text}`, expected text or json")),
        }
    }
}
