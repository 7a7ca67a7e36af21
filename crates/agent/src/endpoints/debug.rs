//! `/debug`: running tasks. The Armory agent has Go's profiles there, which only a Go program can provide.

use axum::{Json, extract::State, http::StatusCode};

use super::EndpointState;

/// Returns the tasks of the process, by name; watches are at `/watches`.
pub(super) async fn tasks(State(state): State<EndpointState>) -> Json<Vec<String>> {
    Json(state.tasks.running())
}

pub(super) async fn pprof() -> (StatusCode, &'static str) {
    const SENTENCE: &str = "This agent is not written in Go and has no pprof profiles. /debug/tasks lists what runs, /watches \
        what is watched, /metrics memory and CPU; for more, point perf at the process.\n";
    (StatusCode::NOT_IMPLEMENTED, SENTENCE)
}
