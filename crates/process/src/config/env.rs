//! The environment of the process, captured once.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The environment variables of the process as they were at start.
///
/// Everything that depends on the environment takes an `Env`, so that tests never touch the real one and a
/// reload sees what the start saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<String, String>);

// === impl Env ===

impl Env {
    /// Captures the environment of this process; values that are not UTF-8 are left out.
    pub fn capture() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Gives the value of a variable; an empty variable counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Gives the home directory of the user.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }
}

impl From<BTreeMap<String, String>> for Env {
    fn from(variables: BTreeMap<String, String>) -> Self {
        Self(variables)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
