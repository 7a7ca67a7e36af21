//! `/logging/level`: the log level, changed while the agent runs.

use axum::{Extension, Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_process::{logging::Logging, serve::PeerInfo};
use tracing::info;

use super::{EndpointState, ErrorResponse};

/// Body of a request: `{"level":"debug"}`.
#[derive(Debug, Deserialize)]
struct Level {
    level: String,
}

const FORBIDDEN: &str = "the level is changed from this machine only (in Kubernetes: kubectl port-forward), unless \
    server.ssl.clientAuth verifies who asks, or server.remoteChanges is true";

pub(super) async fn level(State(state): State<EndpointState>) -> Result<Json<Value>, ErrorResponse> {
    Ok(Json(json!({ "level": ours(&state)?.level() })))
}

/// Sets the level, given as JSON or as a bare word, until the configuration changes it or the agent exits.
pub(super) async fn set_level(
    State(state): State<EndpointState>,
    Extension(peer): Extension<PeerInfo>,
    body: String,
) -> Result<Json<Value>, ErrorResponse> {
    if !state.remote_changes && !may_change(&peer) {
        return Err(ErrorResponse(StatusCode::FORBIDDEN, FORBIDDEN.into()));
    }
    let logging = ours(&state)?;
    let level = match serde_json::from_str::<Level>(&body) {
        Ok(Level { level }) => level,
        Err(_) => body.trim().trim_matches('"').to_owned(),
    };
    if level.is_empty() {
        return Err(ErrorResponse::bad_request(
            "level: expected error, warn, info, debug or trace, found nothing",
        ));
    }
    logging.set_level(&level).map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    info!(level, "the level of the log was changed");
    Ok(Json(json!({ "level": logging.level() })))
}

/// Whether the client is on this machine, or has sent a certificate, which was then verified.
fn may_change(peer: &PeerInfo) -> bool {
    peer.remote.ip().to_canonical().is_loopback() || peer.certificates.is_some()
}

fn ours(state: &EndpointState) -> Result<&Logging, ErrorResponse> {
    let message = "this agent shares its process with a hub, whose command line chose the level";
    state.logging.as_ref().ok_or_else(|| ErrorResponse(StatusCode::NOT_FOUND, message.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_this_machine_and_clients_with_a_certificate_may_change_the_level() {
        let peer = |remote: &str, shown: bool| PeerInfo {
            remote: remote.parse().unwrap(),
            certificates: shown.then(|| Arc::new(Vec::new())),
        };
        for (remote, shown, allowed) in [
            ("127.0.0.1:9", false, true),
            ("[::1]:9", false, true),
            ("[::ffff:127.0.0.1]:9", false, true),
            ("10.0.0.7:9", false, false),
            ("[fd00::7]:9", false, false),
            ("10.0.0.7:9", true, true),
        ] {
            assert_eq!(may_change(&peer(remote, shown)), allowed, "{remote} {shown}");
        }
    }
}
