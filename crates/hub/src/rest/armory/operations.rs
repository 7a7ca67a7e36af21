//! The history of operations as the Scale Agent's plugin shows it, with every hop.

use axum::{Json, extract::State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    rest::{
        RestState,
        error::{Error, Path, Query},
        operations::find,
    },
    store::{OperationQuery, OperationRow},
};

const DEFAULT_ITEMS: u32 = 100;
const MOST_ITEMS: u32 = 1000;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// Size of the page, 1 to 1000; 100 if absent.
    items: Option<u32>,
    /// Which page; the first is 0.
    page: Option<u32>,
}

/// An operation and its way.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationHistoryRecord {
    operation_id: String,
    operation_type: String,
    account: String,
    /// ISO-8601, as all times here.
    start_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_duration_ms: Option<i64>,
    /// `completed`, `failed`, `unknown`, `cancelled` or `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    final_outcome: Option<&'static str>,
    op_received_by_clouddriver: HubHop,
    #[serde(skip_serializing_if = "Option::is_none")]
    op_processed_by_clouddriver: Option<HubHop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op_sent_to_agent: Option<AgentHop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_received_from_agent: Option<ResultHop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_received_by_clouddriver: Option<HubHop>,
}

/// At a hub.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HubHop {
    clouddriver_id: String,
    time: String,
}

/// To an agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentHop {
    agent_id: String,
    time: String,
}

/// Back from an agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultHop {
    agent_id: String,
    clouddriver_id: String,
    time: String,
    result: OperationResult,
}

/// Message of the agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationResult {
    /// The HTTP status.
    status: u16,
    duration_ms: u64,
}

/// Operations, the latest first.
#[utoipa::path(
    get,
    path = "/armory/agent/operations",
    params(HistoryQuery),
    responses((status = 200, body = Vec<OperationHistoryRecord>), (status = 400, body = crate::rest::error::ErrorBody))
)]
pub(crate) async fn operations(
    State(state): State<RestState>,
    Query(HistoryQuery { items, page }): Query<HistoryQuery>,
) -> Result<Json<Vec<OperationHistoryRecord>>, Error> {
    let limit = items.unwrap_or(DEFAULT_ITEMS);
    if !(1..=MOST_ITEMS).contains(&limit) {
        let expected = format_args!("expected 1 to {MOST_ITEMS}, found {limit}");
        return Err(Error::bad_request("items", expected));
    }
    let offset = page.unwrap_or_default().saturating_mul(limit);
    let query = OperationQuery { limit, offset, ..OperationQuery::default() };
    state.dispatch.written().await;
    let rows = state.store.operations(&state.tenant, &query).await?;
    Ok(Json(rows.into_iter().map(OperationHistoryRecord::from).collect()))
}

/// One operation.
#[utoipa::path(
    get,
    path = "/armory/agent/operations/{opId}",
    responses((status = 200, body = OperationHistoryRecord), (status = 404, body = crate::rest::error::ErrorBody))
)]
pub(crate) async fn operation(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<OperationHistoryRecord>, Error> {
    find(&state, &id).await.map(OperationHistoryRecord::from).map(Json)
}

// === impl OperationHistoryRecord ===

impl From<OperationRow> for OperationHistoryRecord {
    fn from(row: OperationRow) -> Self {
        let hub = |id: &spindrift_model::HubId, at: Timestamp| HubHop {
            clouddriver_id: id.to_string(),
            time: at.to_string(),
        };
        let agent = row.sent.as_ref().map(|(_, _, seat)| seat.agent.to_string());
        let duration = |ended: Timestamp| ended.as_millisecond() - row.created_at.as_millisecond();
        let result = row.answered.as_ref().map(|(at, to)| ResultHop {
            agent_id: agent.clone().unwrap_or_default(),
            clouddriver_id: to.to_string(),
            time: at.to_string(),
            result: OperationResult {
                status: row.code,
                duration_ms: u64::try_from(row.took.as_millis()).unwrap_or(u64::MAX),
            },
        });
        Self {
            operation_id: row.id.to_string(),
            operation_type: row.verb.clone(),
            account: row.account.to_string(),
            start_time: row.created_at.to_string(),
            end_time: row.ended_at.map(|at| at.to_string()),
            total_duration_ms: row.ended_at.map(duration),
            final_outcome: row.ended_at.map(|_| row.state.word()),
            op_received_by_clouddriver: hub(&row.received_by, row.created_at),
            op_processed_by_clouddriver: row.sent.as_ref().map(|(at, by, _)| hub(by, *at)),
            op_sent_to_agent: row
                .sent
                .as_ref()
                .zip(agent)
                .map(|((at, ..), agent)| AgentHop { agent_id: agent, time: at.to_string() }),
            result_received_from_agent: result,
            // The hub that received the operation reads the outcome from its row.
            result_received_by_clouddriver: row.ended_at.map(|at| hub(&row.received_by, at)),
        }
    }
}
