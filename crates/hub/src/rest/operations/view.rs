//! An operation as it is shown.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::store::{OperationRow, OperationState};

/// An operation of an agent, and its outcome.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    /// A ULID.
    id: String,
    account: String,
    verb: String,
    /// Its target, such as `Deployment shop/web`.
    target: String,
    /// `queued`, `sent`, `completed`, `failed`, `unknown`, `cancelled` or `expired`.
    state: &'static str,
    /// The HTTP status that it ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    /// Kubernetes' `Status`, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    status: Option<Box<RawValue>>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// The agent that it was sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The life of that agent's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    incarnation: Option<String>,
    /// The hub that received it.
    hub: String,
    /// Time that the agent took.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    /// Reason for which the outcome is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Length of the result at `/result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_bytes: Option<u64>,
}

// === impl Operation ===

impl From<OperationRow> for Operation {
    fn from(row: OperationRow) -> Self {
        let (sent_at, seat) = row.sent.map(|(at, _, seat)| (at.to_string(), seat)).unzip();
        Self {
            id: row.id.to_string(),
            account: row.account.to_string(),
            verb: row.verb,
            target: row.target,
            state: row.state.word(),
            code: Some(row.code).filter(|code| *code != 0),
            status: Some(row.status)
                .filter(|_| row.state == OperationState::Failed)
                .and_then(|status| serde_json::from_slice(&status).ok()),
            created_at: row.created_at.to_string(),
            sent_at,
            took_ms: row.answered.and_then(|_| u64::try_from(row.took.as_millis()).ok()),
            ended_at: row.ended_at.map(|at| at.to_string()),
            agent: seat.as_ref().map(|seat| seat.agent.to_string()),
            incarnation: seat.map(|seat| seat.incarnation.to_string()),
            hub: row.received_by.to_string(),
            reason: Some(row.reason).filter(|_| row.state == OperationState::Unknown),
            result_bytes: row.answer_bytes,
        }
    }
}
