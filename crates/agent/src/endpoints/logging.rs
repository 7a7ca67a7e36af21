//! `/logging/level`: what is logged, changed while the agent runs.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_process::logging::Logging;
use tracing::info;

use super::{EndpointState, Wrong};

/// A level as it is asked for: `{"level":"debug"}`.
#[derive(Debug, Deserialize)]
struct Level {
    level: String,
}

pub(super) async fn level(State(state): State<EndpointState>) -> Result<Json<Value>, Wrong> {
    Ok(Json(json!({ "level": ours(&state)?.level() })))
}

/// Takes a level as JSON, or the bare word; it holds until the configuration says another, or the agent ends.
pub(super) async fn set_level(
    State(state): State<EndpointState>,
    body: String,
) -> Result<Json<Value>, Wrong> {
    let logging = ours(&state)?;
    let level = match serde_json::from_str::<Level>(&body) {
        Ok(Level { level }) => level,
        Err(_) => body.trim().trim_matches('"').to_owned(),
    };
    if level.is_empty() {
        return Err(Wrong::bad_request("level: expected error, warn, info, debug or trace, found nothing"));
    }
    logging.set_level(&level).map_err(|error| Wrong::bad_request(error.to_string()))?;
    info!(level, "the level of the log was changed");
    Ok(Json(json!({ "level": logging.level() })))
}

fn ours(state: &EndpointState) -> Result<&Logging, Wrong> {
    let message = "this agent shares its process with a hub, whose command line chose the level";
    state.logging.as_ref().ok_or_else(|| Wrong(StatusCode::NOT_FOUND, message.into()))
}
