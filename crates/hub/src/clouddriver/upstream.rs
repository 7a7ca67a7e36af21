//! Proxy in front of another Clouddriver: forwards requests that are not for this hub's accounts, and merges lists.
//!
//! ```text
//! request ──▶ RoutePlan (by path) ──┬── ours ────────────▶ routes of this hub
//!                                   ├── an account's ────▶ here if it is this hub's, else forwarded
//!                                   ├── operations ──────▶ by the accounts in the body
//!                                   ├── a task's ────────▶ here if it is this hub's, else forwarded
//!                                   ├── a list ──────────▶ both at once ──▶ merge
//!                                   └── anything else ───▶ forwarded unchanged, streamed both ways
//! ```
//!
//! It is a layer around all routes; handlers do not depend on it. An account that both have belongs to this hub, and the
//! upstream's entries of it are left out: an account can be moved to an agent before it is removed from the
//! Clouddriver's configuration. If the upstream fails, lists lack its part and are marked (`X-Spindrift-Stale:
//! upstream`), and only forwarded requests fail. If this hub's store fails, lists lack its part and the header names its
//! accounts.

mod availability;
mod body_budget;
mod client;
mod last_good;
mod merge;
mod merged_response;
mod metrics;
mod operations;
mod plan;
mod proxy;

use std::time::Duration;

use anyhow::Context as _;
use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{StatusCode, Uri},
};
use prometheus_client::registry::Registry;
use regex::Regex;
use serde_json::Value;

use super::Accounts;
use crate::config;
use availability::Availability;
use client::Client;
pub use client::UpstreamError;
use last_good::LastGood;

/// Upstream Clouddriver of this hub.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    availability: Availability,
    last_good: LastGood,
    merge_timeout: Duration,
    /// Accounts that it serves; all if empty.
    accounts: Vec<Regex>,
    /// Paths that it serves; all if empty.
    paths: Vec<Regex>,
}

// === impl Upstream ===

impl Upstream {
    /// Checks the settings; opens no connection yet. Returns none if no upstream is configured. `name` identifies the
    /// sender in `Via`.
    pub fn build(config: &config::UpstreamSettings, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(url) = config.url.as_deref().filter(|url| !url.trim().is_empty()) else { return Ok(None) };
        let client = Client::build(url, name, config)?;
        let patterns = |texts: &[String]| texts.iter().map(|text| pattern(text)).collect::<Result<_, _>>();
        Ok(Some(Self {
            client,
            availability: Availability::default(),
            last_good: LastGood::new(config.remember()),
            merge_timeout: config.merge_timeout(),
            accounts: patterns(&config.accounts).context("upstream.accounts")?,
            paths: patterns(&config.paths).context("upstream.paths")?,
        }))
    }

    pub fn register(&self, registry: &mut Registry) {
        self.client.metrics().register(registry);
    }

    /// Sends a request of the hub's own; the body is null if it is not JSON.
    pub async fn get(&self, path: &'static str) -> Result<(StatusCode, Value), UpstreamError> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = Uri::from_static(path);
        let response = self.client.fetch(request, self.merge_timeout).await?;
        Ok((response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null)))
    }

    /// Wraps the routes of this hub.
    pub fn layer(self, routes: Router, accounts: Accounts) -> Router {
        proxy::layer(self, accounts, routes)
    }

    fn serves_account(&self, account: &str) -> bool {
        self.accounts.is_empty() || self.accounts.iter().any(|pattern| pattern.is_match(account))
    }

    fn serves_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.is_match(path))
    }
}

/// Parses a pattern in which `*` matches any characters.
fn pattern(text: &str) -> Result<Regex, regex::Error> {
    let parts: Vec<_> = text.trim().split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*")))
}
