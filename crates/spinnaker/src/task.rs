//! Tasks: state and results of operations, which callers poll.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use crate::{Failure, SpinnakerOperation};

/// Line of a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub status: String,
    pub phase: String,
}

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskState {
    Started,
    Completed,
    Failed,
    FailedRetryable,
}

/// Task. Its results are written before its state becomes complete, so that no reader sees a complete task without results.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: String,
    pub state: TaskState,
    pub history: Vec<Line>,
    pub result_objects: Vec<Value>,
    pub start_time_ms: i64,
    /// `<uuid>@<host>`.
    pub owner_id: String,
}

/// Response to a request with operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskReference {
    id: String,
    resource_uri: String,
}

/// Owner of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskOwner {
    name: String,
}

/// Error for a change that a task's state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("Task not found (id: {0})")]
    NotFound(String),
    #[error("Task id: {0} is not retryable")]
    NotRetryable(String),
    #[error("Task is already completed! No further updates allowed!")]
    Completed,
    #[error("Patching task id: {0} with the provided inputs is not supported")]
    NotPatchable(String),
    #[error("No saga was found for this task id: {0} - can't resume")]
    NotResumable(String),
}

const ORCHESTRATION: &str = "ORCHESTRATION";
/// Maximum length of a status.
const LONGEST_STATUS: usize = 10_000;

// === impl Line ===

impl Line {
    pub fn new(phase: &str, status: impl Into<String>) -> Self {
        let mut status = status.into();
        if let Some((end, _)) = status.char_indices().nth(LONGEST_STATUS) {
            status.truncate(end);
        }
        Self { status, phase: phase.to_owned() }
    }

    pub fn initializing() -> Self {
        Self::new(ORCHESTRATION, "Initializing Orchestration Task")
    }

    /// First line of a retry under the same id.
    pub fn initializing_again() -> Self {
        Self::new(ORCHESTRATION, "Re-initializing Orchestration Task (failure is retryable)")
    }

    pub fn processing(operation: SpinnakerOperation) -> Self {
        Self::new(ORCHESTRATION, format!("Processing op: {}", operation.class()))
    }

    pub fn completed() -> Self {
        Self::new(ORCHESTRATION, "Orchestration completed.")
    }

    pub fn failed(operation: SpinnakerOperation, failure: &Failure) -> Self {
        let Failure { exception, message } = failure;
        let class = operation.class();
        Self::new(ORCHESTRATION, format!("Orchestration failed: {class} | {exception}: [{message}]"))
    }

    /// Line of a task that cannot be continued.
    pub fn abandoned(failure: &Failure) -> Self {
        Self::new(ORCHESTRATION, format!("Orchestration failed: {}", failure.message))
    }
}

// === impl TaskState ===

impl TaskState {
    pub fn is_completed(self) -> bool {
        self != Self::Started
    }

    pub fn is_failed(self) -> bool {
        matches!(self, Self::Failed | Self::FailedRetryable)
    }

    pub fn is_retryable(self) -> bool {
        self == Self::FailedRetryable
    }

    /// State of a task that is marked as failed by a request.
    pub fn given_up(self, retry: bool) -> Result<Self, TaskError> {
        if self.is_completed() {
            return Err(TaskError::Completed);
        }
        Ok(if retry { Self::FailedRetryable } else { Self::Failed })
    }
}

// === impl Task ===

/// JSON of a status, with the last line.
#[derive(Serialize)]
struct Shown<'a> {
    phase: &'a str,
    status: &'a str,
    completed: bool,
    retryable: bool,
    complete: bool,
    failed: bool,
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { id, state, history, result_objects, start_time_ms, owner_id } = self;
        let last = history.last();
        let status = Shown {
            phase: last.map_or(ORCHESTRATION, |line| &line.phase),
            status: last.map_or("", |line| &line.status),
            completed: state.is_completed(),
            retryable: state.is_retryable(),
            complete: state.is_completed(),
            failed: state.is_failed(),
        };
        let mut task = serializer.serialize_struct("Task", 9)?;
        task.serialize_field("status", &status)?;
        task.serialize_field("history", history)?;
        task.serialize_field("id", id)?;
        task.serialize_field("startTimeMs", start_time_ms)?;
        task.serialize_field("ownerId", owner_id)?;
        task.serialize_field("sagaIds", &[(); 0])?;
        task.serialize_field("resultObjects", result_objects)?;
        task.serialize_field("outputs", &[(); 0])?;
        task.serialize_field("retryable", &state.is_retryable())?;
        task.end()
    }
}

// === impl TaskReference ===

impl TaskReference {
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { resource_uri: format!("/task/{id}"), id }
    }
}

// === impl TaskOwner ===

impl TaskOwner {
    pub fn new(owner_id: &str) -> Self {
        Self { name: owner_id.split_once('@').map_or(owner_id, |(_, host)| host).to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_written_as_recorded() {
        let task = Task {
            id: "911c84a9".into(),
            state: TaskState::Completed,
            history: vec![
                Line::initializing(),
                Line::processing(SpinnakerOperation::CleanupArtifacts),
                Line::completed(),
            ],
            result_objects: vec![
                json!({"manifestNamesByNamespace": {}, "createdArtifacts": [], "boundArtifacts": []}),
            ],
            start_time_ms: 1_794_775_217_783,
            owner_id: "f69f8465@vm".into(),
        };
        // recording 430
        assert_eq!(
            serde_json::to_value(&task).unwrap(),
            json!({"status": {"phase": "ORCHESTRATION", "status": "Orchestration completed.", "completed": true,
                    "retryable": false, "complete": true, "failed": false},
                "history": [{"status": "Initializing Orchestration Task", "phase": "ORCHESTRATION"},
                    {"status": "Processing op: KubernetesCleanupArtifactsOperation", "phase": "ORCHESTRATION"},
                    {"status": "Orchestration completed.", "phase": "ORCHESTRATION"}],
                "id": "911c84a9", "startTimeMs": 1_794_775_217_783_i64, "ownerId": "f69f8465@vm", "sagaIds": [],
                "resultObjects": [{"manifestNamesByNamespace": {}, "createdArtifacts": [], "boundArtifacts": []}],
                "outputs": [], "retryable": false})
        );
        assert_eq!(serde_json::to_value(TaskOwner::new(&task.owner_id)).unwrap(), json!({"name": "vm"}));
        let reference = serde_json::to_value(TaskReference::new(task.id)).unwrap();
        assert_eq!(reference, json!({"id": "911c84a9", "resourceUri": "/task/911c84a9"}));
    }

    #[test]
    fn a_running_task_can_be_given_up_and_a_complete_one_cannot() {
        assert_eq!(TaskState::Started.given_up(true), Ok(TaskState::FailedRetryable));
        assert_eq!(TaskState::Started.given_up(false), Ok(TaskState::Failed));
        let error = TaskState::Failed.given_up(true).unwrap_err();
        assert_eq!(error.to_string(), "Task is already completed! No further updates allowed!");
        assert!(TaskState::FailedRetryable.is_failed() && TaskState::FailedRetryable.is_completed());
    }

    #[test]
    fn a_status_has_an_end() {
        assert_eq!(Line::new("X", "ä".repeat(20_000)).status.chars().count(), 10_000);
    }
}
