//! A value that does not fit, and where it is.

use std::fmt;

use serde::de::{self, DeserializeSeed};

use super::super::error::ConfigError;
use super::super::schema::join;
use super::super::tree::{Origin, Tree};
use super::Reader;

/// A value that does not fit; the path grows while the error travels up.
#[derive(Debug)]
pub(super) struct Rejected {
    message: String,
    /// The path from the innermost step outwards.
    steps: Vec<Step>,
    origin: Option<Origin>,
}

/// One step of the path to a value.
#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

// === impl Rejected ===

impl Rejected {
    /// Reads one value and marks a failure with the step that led to it.
    pub(super) fn within<'de, S: DeserializeSeed<'de>>(
        seed: S,
        tree: Tree,
        step: impl FnOnce() -> Step,
    ) -> Result<S::Value, Self> {
        let origin = tree.origin.clone();
        seed.deserialize(Reader(tree)).map_err(|mut rejected| {
            rejected.steps.push(step());
            rejected.origin.get_or_insert(origin);
            rejected
        })
    }

    pub(super) fn into_config_error(self) -> ConfigError {
        let mut key = self.steps.iter().rev().fold(String::new(), |path, step| match step {
            Step::Key(name) => join(&path, name),
            Step::Index(index) => format!("{path}[{index}]"),
        });
        if key.is_empty() {
            "the whole configuration".clone_into(&mut key);
        }
        let place = self.origin.unwrap_or(Origin::Nowhere).to_string();
        ConfigError::Invalid { key, message: self.message, place }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rejected {}

impl de::Error for Rejected {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), steps: Vec::new(), origin: None }
    }
}
