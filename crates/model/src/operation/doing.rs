//! What was being done when something was refused: what kubectl tells before the API server's words.

use serde::{Deserialize, Serialize};

/// Told as `error when <words> "web.yaml": `, and where that was done in steps, with the one that was refused behind it:
/// `error when <step> "web.yaml": `. It is the answer of a change that was refused, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doing {
    words: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// What the user is warned of before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

// === impl Doing ===

impl Doing {
    /// Without steps.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), step: None, warnings: Vec::new() }
    }

    /// The same, refused in this step of it.
    #[must_use]
    pub fn in_step(self, step: impl Into<String>) -> Self {
        Self { step: Some(step.into()), ..self }
    }

    /// The same, and the user is warned of this.
    #[must_use]
    pub fn warned(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// As an agent says it; those that know of no steps say the words alone.
    pub fn read(body: &[u8]) -> Option<Self> {
        let words = std::str::from_utf8(body).ok().filter(|words| !words.is_empty())?;
        Some(serde_json::from_str(words).unwrap_or_else(|_| Self::new(words)))
    }

    /// On one line.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// What it was done with is a file, or whatever the user gave.
    pub(super) fn with(&self, source: &str) -> String {
        let frame = |doing: &str| format!("error when {doing} {source:?}: ");
        frame(&self.words) + &self.step.as_deref().map(frame).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_within_what_it_is_a_step_of() {
        let doing = Doing::new("applying patch:\n{}\nto:\nweb\nfor:");
        assert_eq!(doing.with("w.yaml"), "error when applying patch:\n{}\nto:\nweb\nfor: \"w.yaml\": ");
        assert_eq!(
            doing.in_step("patching").with("w.yaml"),
            "error when applying patch:\n{}\nto:\nweb\nfor: \"w.yaml\": error when patching \"w.yaml\": "
        );
    }

    #[test]
    fn agents_that_know_of_no_steps_are_understood() {
        let patching = Doing::new("applying\n\"x\"").in_step("patching").warned(vec!["it is odd".to_owned()]);
        for doing in [Doing::new("creating"), patching] {
            assert_eq!(Doing::read(doing.to_json().as_bytes()), Some(doing.clone()));
            assert!(!doing.to_json().contains('\n'));
        }
        let retrieving = "retrieving current configuration of:\nweb\nfrom server for:";
        assert_eq!(Doing::read(retrieving.as_bytes()), Some(Doing::new(retrieving)));
        assert_eq!(Doing::read(b""), None);
        assert_eq!(Doing::read(b"\xff"), None);
    }
}
