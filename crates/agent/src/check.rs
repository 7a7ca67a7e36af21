//! `spindrift-agent check`: preflight check, from the configuration to the hub.
//!
//! ```text
//! configuration ─┬─▶ account (credentials ─▶ dial ─▶ TLS ─▶ version ─▶ identity, RBAC), all accounts beside each other
//!                ├─▶ hub (dial ─▶ TLS ─▶ HTTP/2 ─▶ gRPC ─▶ protocol)
//!                └─▶ endpoints (the agent's own ports)
//! ```
//!
//! The check changes nothing: it opens no session, and only reads from API servers.

mod account;
mod hub;
mod ports;
mod rbac;

use std::collections::HashSet;

use futures::{StreamExt, stream};
use spindrift_kubernetes::ApiOptions;
use spindrift_process::{
    check::{DEADLINE, Report, Section, configuration},
    config::{ConfigFiles, Env, Loaded},
    tls,
};

use crate::config::{AgentConfig, Kubernetes};

/// Accounts that are checked at a time: each holds a few connections.
const ACCOUNTS_AT_A_TIME: usize = 16;

/// Runs all checks; problems are in the report.
pub async fn check(files: &ConfigFiles, env: &Env) -> Report {
    tls::install_provider();
    let mut report = Report::new("spindrift-agent", crate::VERSION);
    let (mut section, loaded) = configuration::<AgentConfig>(files);
    let Some(Loaded { settings: config, secret_files: _open, .. }) = loaded else {
        section.skip(&["accounts", "hub", "endpoints"], "the configuration cannot be read");
        report.push(section);
        return report;
    };
    account_names(&config.kubernetes, &mut section);
    report.push(section);

    let accounts = stream::iter(&config.kubernetes.accounts)
        .map(|account| {
            let options = ApiOptions {
                request_timeout: Some(DEADLINE),
                insecure: account.insecure,
                no_proxy: account.no_proxy || config.kubernetes.no_proxy,
                ..ApiOptions::default()
            };
            let impersonated = account.impersonated(&config.kubernetes.assumable_service_accounts);
            let account = config.kubernetes.effective(account);
            Box::pin(async move { account::section(&account, options, impersonated).await })
        })
        .buffered(ACCOUNTS_AT_A_TIME)
        .collect::<Vec<_>>();
    let hub = Box::pin(hub::section(&config.clouddriver, env));
    let (accounts, hub, ports) = tokio::join!(accounts, hub, Box::pin(ports::section(&config)));
    for section in accounts {
        report.push(section);
    }
    report.push(hub);
    report.push(ports);
    report
}

fn account_names(kubernetes: &Kubernetes, section: &mut Section) {
    const CHECK: &str = "accounts";
    let names: Vec<_> = kubernetes.accounts.iter().map(|account| account.name.as_str()).collect();
    if names.is_empty() {
        let remedy = "list clusters under kubernetes.accounts";
        section.warn(CHECK, "none are configured: the agent has nothing to do", remedy);
        return;
    }
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        let remedy = "give each of kubernetes.accounts a name of its own";
        section.wrong(CHECK, format!("two accounts are called {twice:?}"), remedy);
        return;
    }
    section.ok(CHECK, names.join(", "));
}
