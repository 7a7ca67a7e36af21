//! Status of objects, which Orca polls after a deployment.
//!
//! Orca checks `failed` first, then `stable`; the other two are for people.

use serde::Serialize;
use serde_json::Value;

use crate::Manifest;

mod batch;
mod rollout;

/// Status of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    pub stable: Condition,
    pub paused: Condition,
    pub available: Condition,
    pub failed: Condition,
}

/// One aspect of the status, with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    pub state: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Error for a workload of an unsupported API version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No version of kind {kind} is known as {api_version}: only apps/v1 is")]
pub struct UnsupportedVersion {
    kind: String,
    api_version: String,
}

const OLD_GENERATION: &str = "Waiting for status generation to match updated object generation";

/// Status of an object. Kinds without rules are stable at once.
pub fn status(object: &Manifest) -> Result<Status, UnsupportedVersion> {
    let kind = object.kind();
    let is_workload =
        ["deployment", "replicaSet", "statefulSet", "daemonSet"].iter().any(|name| kind.is(name));
    if is_workload && object.api_version() != "apps/v1" {
        let (kind, api_version) = (kind.to_string(), object.api_version().to_owned());
        return Err(UnsupportedVersion { kind, api_version });
    }
    let object = Observed(object);
    Ok(if kind.is("deployment") {
        rollout::deployment(object)
    } else if kind.is("replicaSet") {
        rollout::replica_set(object)
    } else if kind.is("statefulSet") {
        rollout::stateful_set(object)
    } else if kind.is("daemonSet") {
        rollout::daemon_set(object)
    } else if kind.is("pod") {
        batch::pod(object)
    } else if kind.is("job") {
        batch::job(object)
    } else if kind.is("cronJob") {
        if object.has_status() { Status::good() } else { Status::none_reported() }
    } else if kind.is("horizontalpodautoscaler") {
        batch::autoscaler(object)
    } else {
        Status::good()
    })
}

// === impl Status ===

impl Status {
    /// Stable and available.
    fn good() -> Self {
        Self {
            stable: Condition::of(true),
            paused: Condition::of(false),
            available: Condition::of(true),
            failed: Condition::of(false),
        }
    }

    fn none_reported() -> Self {
        Self::good().unstable("No status reported yet").unavailable("No availability reported")
    }

    fn unstable(mut self, message: impl Into<String>) -> Self {
        self.stable = Condition::because(false, message);
        self
    }

    fn unavailable(mut self, message: impl Into<String>) -> Self {
        self.available = Condition::because(false, message);
        self
    }

    fn failed(mut self, message: impl Into<String>) -> Self {
        self.failed = Condition::because(true, message);
        self
    }
}

// === impl Condition ===

impl Condition {
    fn of(state: bool) -> Self {
        Self { state, message: None }
    }

    fn because(state: bool, message: impl Into<String>) -> Self {
        Self { state, message: Some(message.into()) }
    }
}

/// Object with access to its status fields. Missing counts are zero.
#[derive(Clone, Copy)]
struct Observed<'a>(&'a Manifest);

/// Condition that a controller reports.
#[derive(Clone, Copy)]
struct Reported<'a>(&'a Value);

// === impl Observed ===

impl<'a> Observed<'a> {
    fn at(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    fn has_status(self) -> bool {
        self.at("/status").is_some()
    }

    fn count(self, pointer: &str) -> Option<i64> {
        whole(self.at(pointer)?)
    }

    fn count_or_zero(self, pointer: &str) -> i64 {
        self.count(pointer).unwrap_or(0)
    }

    fn text(self, pointer: &str) -> Option<&'a str> {
        self.at(pointer)?.as_str()
    }

    /// Whether the controller has observed the newest generation.
    fn is_current(self) -> bool {
        let observed = self.count("/status/observedGeneration");
        observed.is_some() && observed == self.count("/metadata/generation")
    }

    fn conditions(self) -> impl Iterator<Item = Reported<'a>> {
        self.at("/status/conditions").and_then(Value::as_array).into_iter().flatten().map(Reported)
    }
}

/// Integer, also if it is written as a float.
#[allow(clippy::cast_possible_truncation)]
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|float| float as i64))
}

// === impl Reported ===

impl<'a> Reported<'a> {
    fn is(self, key: &str, wanted: &str) -> bool {
        self.0.get(key).and_then(Value::as_str).is_some_and(|text| text.eq_ignore_ascii_case(wanted))
    }

    fn message(self) -> Option<&'a str> {
        self.0.get("message").and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests;
