//! The two sides: the same objects, under names that differ only in the name of the side.

use serde_json::Value;

use crate::kinds::{NAMESPACE, SIDE};

/// One side of one worker; names of sides are of one length, since lengths are limited.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    /// `west` is kubectl's, `east` is ours.
    name: &'static str,
    namespace: String,
}

/// Replacement of both names, before they are compared.
const EITHER: &str = "side";
const NAMES: [&str; 2] = ["west", "east"];

// === impl Side ===

impl Side {
    /// Both sides of a worker.
    pub(crate) fn pair(worker: usize) -> [Self; 2] {
        NAMES.map(|name| Self { name, namespace: format!("parity-{worker}-{name}") })
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn render(&self, manifest: &Value) -> Value {
        serde_json::from_str(&self.render_text(&manifest.to_string())).unwrap()
    }

    pub(crate) fn render_text(&self, text: &str) -> String {
        text.replace(NAMESPACE, &self.namespace).replace(SIDE, self.name)
    }
}

/// The same text for both sides.
pub(crate) fn either(text: &str) -> String {
    text.replace(NAMES[0], EITHER).replace(NAMES[1], EITHER)
}
