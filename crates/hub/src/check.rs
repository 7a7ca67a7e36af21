//! `spindrift-hub check`: preflight checks, before a hub starts or beside one that runs.
//!
//! ```text
//! configuration ─┬─▶ database (dial ─▶ login ─▶ schema, writing, clock, connections)
//!                ├─▶ operations (the key that encrypts them)
//!                ├─▶ tls (files, expiry, client authentication)
//!                ├─▶ upstream (the Clouddriver behind the hub, if there is one: whether it answers)
//!                └─▶ ports (free, or held by the hub that runs: then it is asked how it is)
//! ```
//!
//! Nothing is changed: writes are tried in a transaction that is rolled back.

mod database;
mod operations;
mod ports;
mod tls;
mod upstream;

use spindrift_process::{
    check::{Report, configuration},
    config::{ConfigFiles, Loaded},
    tls::install_provider,
};

use crate::config::HubConfig;

/// Checks everything; the report has the problems.
pub async fn check(files: &ConfigFiles) -> Report {
    install_provider();
    let mut report = Report::new("spindrift-hub", crate::VERSION);
    let (mut section, loaded) = configuration::<HubConfig>(files);
    let Some(Loaded { settings: config, secret_files: _open, .. }) = loaded else {
        section.skip(&["database", "operations", "tls", "ports"], "the configuration cannot be read");
        report.push(section);
        return report;
    };
    report.push(section);
    let server = &config.kubesvc.grpc.server;
    let (database, upstream, ports) = tokio::join!(
        Box::pin(database::section(&config.sql)),
        Box::pin(upstream::section(&config.upstream)),
        Box::pin(ports::section(&config))
    );
    report.push(database);
    report.push(operations::section(&config));
    report.push(tls::section(&server.security, &config.kubesvc.grpc.auth.x509));
    if let Some(upstream) = upstream {
        report.push(upstream);
    }
    report.push(ports);
    report
}
