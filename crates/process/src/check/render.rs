//! The page as people and as scripts read it.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Extent, Line, Report, Section, State};

/// The states' words are padded to the longest of them.
const STATE_WIDTH: usize = 7;

#[derive(Serialize)]
struct Page<'a> {
    program: &'a str,
    version: &'a str,
    verdict: State,
    counts: Counts,
    sections: Vec<Section>,
}

/// Number of lines of each state, also of those that are not shown.
#[derive(Serialize, Default)]
struct Counts {
    ok: usize,
    warn: usize,
    wrong: usize,
    skipped: usize,
}

// === impl Report ===

impl Report {
    /// Gives the page for people.
    pub(super) fn text(&self, extent: Extent, colours: bool) -> String {
        let mut page = String::new();
        if extent == Extent::Everything {
            page = format!("{} {}\n", self.program, self.version);
        }
        for section in self.shown(extent) {
            let looked_at = section.checks.iter().filter(|line| line.state != State::Skipped);
            let width = looked_at.map(|line| line.check.len()).max().unwrap_or_default();
            let blank = if page.is_empty() { "" } else { "\n" };
            writeln!(page, "{blank}{}", section.name).expect(INFALLIBLE);
            // Consecutive lines that were skipped for one reason are shown as one: the reason stands above it.
            for group in section.checks.chunk_by(Line::is_skipped_like) {
                let names: Vec<_> = group.iter().map(|line| line.check).collect();
                if let Some(line) = group.first() {
                    line.write(&mut page, &names.join(", "), width, colours);
                }
            }
        }
        if extent == Extent::Everything {
            let Counts { ok, warn, wrong, skipped } = self.counts();
            writeln!(page, "\n{ok} ok, {warn} warn, {wrong} wrong, {skipped} skipped").expect(INFALLIBLE);
        }
        page
    }

    /// Gives the page for scripts.
    pub(super) fn json(&self, extent: Extent) -> String {
        let page = Page {
            program: self.program,
            version: self.version,
            verdict: self.verdict(),
            counts: self.counts(),
            sections: self.shown(extent),
        };
        let mut text = serde_json::to_string_pretty(&page).expect("strings and numbers are always JSON");
        text.push('\n');
        text
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for line in self.lines() {
            match line.state {
                State::Ok => counts.ok += 1,
                State::Warn => counts.warn += 1,
                State::Wrong => counts.wrong += 1,
                State::Skipped => counts.skipped += 1,
            }
        }
        counts
    }

    fn shown(&self, extent: Extent) -> Vec<Section> {
        let mut sections = self.sections.clone();
        if extent == Extent::Problems {
            for section in &mut sections {
                section.checks.retain(|line| matches!(line.state, State::Warn | State::Wrong));
            }
            sections.retain(|section| !section.checks.is_empty());
        }
        sections
    }
}

const INFALLIBLE: &str = "a string takes all that is written";

// === impl Line ===

impl Line {
    fn is_skipped_like(&self, other: &Self) -> bool {
        self.state == State::Skipped && other.state == State::Skipped && self.found == other.found
    }

    fn write(&self, page: &mut String, names: &str, width: usize, colours: bool) {
        let Self { check: _, state, found, remedy } = self;
        let (before, after) = if colours { (state.colour(), "\x1b[0m") } else { ("", "") };
        let word = state.word();
        // Errors of libraries and servers may have several lines; the page has one line per result.
        let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = if *state == State::Skipped { format!("({found})") } else { found };
        writeln!(page, "  {before}{word:STATE_WIDTH$}{after}  {names:width$}  {found}").expect(INFALLIBLE);
        if let Some(remedy) = remedy {
            let indent = 2 + STATE_WIDTH + 2 + width + 2;
            writeln!(page, "{:indent$}→ {remedy}", "").expect(INFALLIBLE);
        }
    }
}

// === impl State ===

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Wrong => "wrong",
            Self::Skipped => "skipped",
        }
    }

    /// Green, yellow, red, grey.
    fn colour(self) -> &'static str {
        match self {
            Self::Ok => "\x1b[32m",
            Self::Warn => "\x1b[33m",
            Self::Wrong => "\x1b[1;31m",
            Self::Skipped => "\x1b[90m",
        }
    }
}
