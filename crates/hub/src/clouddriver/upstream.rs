//! In front of a Clouddriver: what is not ours is passed on to it, and lists that both have are made one.
//!
//! ```text
//! request ──▶ Plan (by path) ──┬── ours ────────────▶ routes of this hub
//!                              ├── an account's ────▶ ours if it is ours, else passed on
//!                              ├── operations ──────▶ by the accounts in the body
//!                              ├── a task's ────────▶ ours if we know it, else passed on
//!                              ├── a list ──────────▶ both at once ──▶ merge
//!                              └── anything else ───▶ passed on, as it is, both ways as it comes
//! ```
//!
//! It is a layer around all routes: handlers do not know of it. An account that both have is ours; what the Clouddriver
//! says of it is left out, so an account can be moved to an agent before it is taken from the Clouddriver's
//! configuration. If the Clouddriver is away, lists come without its part and say so (`X-Spindrift-Stale: upstream`),
//! and only what is passed on fails. If our own store is away, lists come without our part, and name our accounts.

mod body_budget;
mod client;
mod conditions;
mod dial;
mod last_good;
mod merge;
mod merged_response;
mod metrics;
mod operations;
mod plan;
mod proxy;
mod stale;

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
use client::Client;
pub use client::Silence;
use conditions::Conditions;
use last_good::Memory;

/// The Clouddriver behind this hub.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    conditions: Conditions,
    memory: Memory,
    merge_timeout: Duration,
    /// What it is asked for; everything if empty.
    accounts: Vec<Regex>,
    paths: Vec<Regex>,
}

// === impl Upstream ===

impl Upstream {
    /// Checks the settings; nothing is asked yet. None if there is no such Clouddriver. `name` is what whoever asks calls
    /// itself.
    pub fn build(config: &config::Upstream, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(url) = config.url.as_deref().filter(|url| !url.trim().is_empty()) else { return Ok(None) };
        let client = Client::build(url, name, config)?;
        let patterns = |texts: &[String]| texts.iter().map(|text| pattern(text)).collect::<Result<_, _>>();
        Ok(Some(Self {
            client,
            conditions: Conditions::default(),
            memory: Memory::new(config.remember()),
            merge_timeout: config.merge_timeout(),
            accounts: patterns(&config.accounts).context("upstream.accounts")?,
            paths: patterns(&config.paths).context("upstream.paths")?,
        }))
    }

    /// Shows what comes of asking it.
    pub fn register(&self, registry: &mut Registry) {
        self.client.metrics().register(registry);
    }

    /// What it says to a question of the hub's own; null if that is not JSON.
    pub async fn ask(&self, path: &'static str) -> Result<(StatusCode, Value), Silence> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = Uri::from_static(path);
        let said = self.client.ask(request, self.merge_timeout).await?;
        Ok((said.status, serde_json::from_slice(&said.body).unwrap_or_default()))
    }

    /// The routes of this hub with the Clouddriver behind them.
    pub fn behind(self, routes: Router, accounts: Accounts) -> Router {
        proxy::front(self, accounts, routes)
    }

    fn serves_account(&self, account: &str) -> bool {
        self.accounts.is_empty() || self.accounts.iter().any(|pattern| pattern.is_match(account))
    }

    fn serves_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.is_match(path))
    }
}

/// A text in which `*` stands for any letters.
fn pattern(text: &str) -> Result<Regex, regex::Error> {
    let parts: Vec<_> = text.trim().split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*")))
}
