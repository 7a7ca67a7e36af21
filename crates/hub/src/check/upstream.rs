//! The Clouddriver behind this hub: whether it is there, and whether it is one.

use axum::http::StatusCode;
use serde_json::Value;
use spindrift_process::check::Section;

use crate::{
    clouddriver::{Upstream, UpstreamError},
    config,
};

/// User agent of the check.
const NAME: &str = "spindrift-hub-check";

const SETTINGS: &str = "correct the setting that is named";
const REACHABLE: &str = "correct upstream.url (and upstream.tls), or see to what is there; until then only this hub's accounts can be seen";

/// Nothing, if there is no such Clouddriver.
pub(super) async fn section(config: &config::UpstreamSettings) -> Option<Section> {
    let mut section = Section::new("upstream");
    match Upstream::build(config, NAME) {
        Ok(None) => return None,
        Ok(Some(upstream)) => {
            section.ok("settings", format!("{} is to be asked", config.url.as_deref().unwrap_or_default()));
            ask(&upstream, &mut section).await;
        }
        Err(error) => {
            section.wrong("settings", format!("{error:#}"), SETTINGS);
            section.skip(&["health", "credentials"], "it cannot be asked");
        }
    }
    Some(section)
}

async fn ask(upstream: &Upstream, section: &mut Section) {
    match upstream.get("/health").await {
        Err(
            error @ (UpstreamError::NotConnected(_)
            | UpstreamError::Unreachable(_)
            | UpstreamError::Timeout(_)),
        ) => {
            section.wrong("health", error.to_string(), REACHABLE);
            return section.skip(&["credentials"], "it does not answer");
        }
        Err(error) => section.wrong("health", error.to_string(), REACHABLE),
        Ok((StatusCode::OK, _)) => section.ok("health", "it answers, and is well"),
        Ok((status, _)) => {
            section.warn("health", format!("it answers, with {status}"), "see its log for what it lacks");
        }
    }
    match upstream.get("/credentials").await {
        Err(error) => section.wrong("credentials", error.to_string(), REACHABLE),
        Ok((StatusCode::OK, Value::Array(accounts))) => {
            section.ok("credentials", format!("it has {} accounts", accounts.len()));
        }
        Ok((StatusCode::OK, _)) => {
            let found = "what it answers to /credentials is no list of accounts";
            section.wrong("credentials", found, "set upstream.url to a Clouddriver");
        }
        Ok((status, _)) => section.wrong("credentials", format!("it answers with {status}"), REACHABLE),
    }
}
