//! Step during which an operation was refused, as kubectl writes it before the API server's message.

use serde::{Deserialize, Serialize};

/// Shown as `error when <words> "web.yaml": `, followed, if the work has steps, by the step that was refused:
/// `error when <step> "web.yaml": `. It is the answer of a refused change, in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubectlContext {
    words: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// Warnings to show before the error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

// === impl KubectlContext ===

impl KubectlContext {
    /// Context without steps.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), step: None, warnings: Vec::new() }
    }

    /// The same, refused in this step.
    #[must_use]
    pub fn in_step(self, step: impl Into<String>) -> Self {
        Self { step: Some(step.into()), ..self }
    }

    /// The same, with warnings for the user.
    #[must_use]
    pub fn warned(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Parses the body of a refused change. Agents without support for steps send the words alone.
    pub fn read(body: &[u8]) -> Option<Self> {
        let words = std::str::from_utf8(body).ok().filter(|words| !words.is_empty())?;
        Some(serde_json::from_str(words).unwrap_or_else(|_| Self::new(words)))
    }

    /// JSON on one line.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Prefix of the message; `source` is a file name, or another argument of the user.
    pub(super) fn with(&self, source: &str) -> String {
        let frame = |doing: &str| format!("error when {doing} {source:?}: ");
        frame(&self.words) + &self.step.as_deref().map(frame).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_within_its_work() {
        let context = KubectlContext::new("applying patch:\n{}\nto:\nweb\nfor:");
        assert_eq!(context.with("w.yaml"), "error when applying patch:\n{}\nto:\nweb\nfor: \"w.yaml\": ");
        assert_eq!(
            context.in_step("patching").with("w.yaml"),
            "error when applying patch:\n{}\nto:\nweb\nfor: \"w.yaml\": error when patching \"w.yaml\": "
        );
    }

    #[test]
    fn agents_without_steps_are_understood() {
        let patching =
            KubectlContext::new("applying\n\"x\"").in_step("patching").warned(vec!["it is odd".to_owned()]);
        for context in [KubectlContext::new("creating"), patching] {
            assert_eq!(KubectlContext::read(context.to_json().as_bytes()), Some(context.clone()));
            assert!(!context.to_json().contains('\n'));
        }
        let retrieving = "retrieving current configuration of:\nweb\nfrom server for:";
        assert_eq!(KubectlContext::read(retrieving.as_bytes()), Some(KubectlContext::new(retrieving)));
        assert_eq!(KubectlContext::read(b""), None);
        assert_eq!(KubectlContext::read(b"\xff"), None);
    }
}
