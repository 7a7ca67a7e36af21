//! The recordings, as they lie in `recordings/`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// A request to Clouddriver, and its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Its place in the order in which they were sent.
    pub number: u32,
    pub name: String,
    pub request: Request,
    pub status: u16,
    /// In lower case; only those that a client might rely on.
    pub headers: BTreeMap<String, String>,
    /// Null if there was none; `{"@text": …}` if it was no JSON.
    pub body: Value,
    #[serde(default)]
    pub note: Option<String>,
}

/// Request of a recording.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    /// A header that is null was left out.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    #[serde(default)]
    pub body: Option<Value>,
    /// A body that was no JSON.
    #[serde(default)]
    pub raw: Option<String>,
}

/// An execution that Orca carried to its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedExecution {
    pub name: String,
    pub r#type: String,
    pub application: String,
    pub status: String,
    /// In the order in which they ran.
    pub stages: Vec<RecordedStage>,
}

/// One of its stages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedStage {
    /// Such as `0`, or `0>1` for a stage that Orca itself put after another.
    pub ref_id: String,
    pub r#type: String,
    pub status: String,
    #[serde(default)]
    pub synthetic_stage_owner: Option<String>,
    /// The part of its context that was there at the beginning.
    pub given: Map<String, Value>,
    pub outputs: Map<String, Value>,
    /// Names and how they ended.
    pub tasks: Vec<(String, String)>,
    /// The part of its context that is about Clouddriver.
    #[serde(default)]
    pub context: Map<String, Value>,
}

/// A call that Orca or Gate made to Clouddriver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    /// Orca's execution that it belongs to.
    #[serde(default)]
    pub execution: Option<String>,
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub status: u16,
    #[serde(default)]
    pub body: Option<Value>,
}

/// All that was recorded.
pub mod recorded {
    use super::{RecordedCall, RecordedExecution, Recording, Request, read};
    use serde::Deserialize;
    use serde_json::Value;

    /// Objects that kubectl had created before the first request; a `List`.
    pub const SETUP: &str = include_str!("../../conformance/recordings/setup.json");

    /// Log of every container.
    pub const CONTAINER_LOG: &str = "hello from the container\nSPINNAKER_PROPERTY_BUILD_ID=42\n\
        SPINNAKER_PROPERTY_Empty=\nSPINNAKER_CONFIG_JSON={\"nested\":{\"n\":1},\"s\":\"x\"}\nlast line\n";

    /// A request to Gate, and its answer.
    #[derive(Debug, Clone, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ToGate {
        pub name: String,
        pub request: Request,
        pub status: u16,
        pub body: Value,
    }

    /// Requests to Clouddriver and its answers, in order.
    pub fn clouddriver() -> Vec<Recording> {
        read("clouddriver.jsonl", include_str!("../../conformance/recordings/clouddriver.jsonl"))
    }

    /// Orca's executions, in the order in which they ran.
    pub fn executions() -> Vec<RecordedExecution> {
        read("orca.jsonl", include_str!("../../conformance/recordings/orca.jsonl"))
    }

    /// The calls that Orca made, in order.
    pub fn calls_of_orca() -> Vec<RecordedCall> {
        read("orca-calls.jsonl", include_str!("../../conformance/recordings/orca-calls.jsonl"))
    }

    /// Requests to Gate, and its answers.
    pub fn gate() -> Vec<ToGate> {
        read("gate.jsonl", include_str!("../../conformance/recordings/gate.jsonl"))
    }

    /// The calls that Gate made, in order.
    pub fn calls_of_gate() -> Vec<RecordedCall> {
        read("gate-calls.jsonl", include_str!("../../conformance/recordings/gate-calls.jsonl"))
    }
}

#[expect(clippy::panic, reason = "the files are part of the program")]
fn read<T: DeserializeOwned>(file: &str, text: &str) -> Vec<T> {
    let line = |(index, line)| match serde_json::from_str(line) {
        Ok(line) => line,
        Err(error) => panic!("{file}, line {}: {error}", index + 1),
    };
    text.lines().enumerate().map(line).collect()
}

// === impl Recording ===

impl Recording {
    /// Whether it shows the finished task of an operation before it.
    pub fn is_finished_task(&self) -> bool {
        self.name.ends_with("-task") && self.request.path.starts_with("/task/")
    }

    /// Whether the request left everything as it was.
    pub fn is_read(&self) -> bool {
        matches!(self.request.method.as_str(), "GET" | "HEAD")
    }

    /// Such as `application/json`; nothing if there was no body.
    pub fn media_type(&self) -> Option<&str> {
        self.headers.get("content-type").map(|value| media_type(value))
    }
}

/// A content type without its parameters.
pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::recorded;

    #[test]
    fn all_recordings_can_be_read() {
        assert_eq!(recorded::clouddriver().len(), 469);
        assert_eq!(recorded::executions().len(), 21);
        assert_eq!(recorded::calls_of_orca().len(), 128);
        assert_eq!(recorded::gate().len(), 20);
        assert_eq!(recorded::calls_of_gate().len(), 27);
    }

    #[test]
    fn every_call_of_orca_belongs_to_an_execution() {
        let executions = recorded::executions();
        for call in recorded::calls_of_orca() {
            let name = call.execution.unwrap();
            assert!(name == "through-gate" || executions.iter().any(|it| it.name == name), "{name}");
        }
    }

    #[test]
    fn numbers_in_manifests_are_doubles() {
        let all = recorded::clouddriver();
        let deployed = all.iter().find(|it| it.name == "manifest-deployment-v1").unwrap();
        assert!(deployed.body["manifest"]["spec"]["replicas"].is_f64());
    }
}
