//! Differences from Clouddriver that we want, each with its reason. This is the table of `docs/compatibility.md`.

use std::sync::LazyLock;

use regex::Regex;

pub(crate) struct Accepted {
    /// Numbers of recordings; all if empty.
    pub(crate) recordings: &'static [u32],
    /// A pattern of the whole path of a field.
    pub(crate) fields: &'static str,
    /// What Clouddriver answers.
    pub(crate) clouddriver: &'static str,
    /// What we answer.
    pub(crate) ours: &'static str,
    pub(crate) reason: &'static str,
    /// Whether it differs in every run.
    pub(crate) always: bool,
}

/// The whole answer.
const ALL: &str = ".*";

/// Sorted by what it is about.
pub(crate) const ACCEPTED: [Accepted; 1] = [Accepted {
    recordings: &[293],
    fields: ALL,
    clouddriver: "a list of its caching agents and their last runs",
    ours: "a list of our accounts, as agents",
    reason: "there are no caching agents here; nobody but people reads it",
    always: true,
}];

/// Patterns are compiled once.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let pattern = |it: &Accepted| Regex::new(&format!("^(?:{})$", it.fields)).unwrap();
    ACCEPTED.iter().map(pattern).collect()
});

pub(crate) fn is_accepted(number: u32, path: &str) -> bool {
    ACCEPTED.iter().zip(PATTERNS.iter()).any(|(it, pattern)| it.covers(number, path, pattern))
}

/// Those that nothing seen is covered by: the list is to stay short.
pub(crate) fn superfluous(seen: &[(u32, String)]) -> Vec<&'static str> {
    let covers_any =
        |it: &Accepted, pattern: &Regex| seen.iter().any(|(number, path)| it.covers(*number, path, pattern));
    let all = ACCEPTED.iter().zip(PATTERNS.iter());
    all.filter(|(it, pattern)| it.always && !covers_any(it, pattern)).map(|(it, _)| it.ours).collect()
}

// === impl Accepted ===

impl Accepted {
    fn covers(&self, number: u32, path: &str, pattern: &Regex) -> bool {
        (self.recordings.is_empty() || self.recordings.contains(&number)) && pattern.is_match(path)
    }
}
