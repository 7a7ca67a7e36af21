//! The agent put together: everything is read and bound before anything runs.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use prometheus_client::registry::Registry;
use spindrift_kubernetes::ApiOptions;
use spindrift_model::{AgentId, Incarnation};
use spindrift_process::{
    backoff::BackoffConfig,
    config::Env,
    daemon::host_name,
    serve::{self, Endpoint, Expects},
    shutdown::Shutdown,
};
use tokio::{net::TcpListener, sync::watch};
use tracing::{info, warn};

use crate::{
    account::{Accounts, Preparation},
    board::Board,
    config::AgentConfig,
    endpoints::{self, EndpointState},
    metrics::Metrics,
    uplink::{Dialer, Uplink},
    watch::Budgets,
};

/// An agent whose ports are bound and whose files are read.
pub struct Agent {
    config: AgentConfig,
    id: AgentId,
    dialer: Dialer,
    endpoints: TcpListener,
    prometheus: Option<TcpListener>,
    /// What operators see of it.
    pub board: Board,
    /// Where health and administration listen.
    pub address: SocketAddr,
}

// === impl Agent ===

impl Agent {
    /// Reads the TLS files and binds the ports; nothing runs yet.
    pub async fn build(config: AgentConfig, id: AgentId) -> anyhow::Result<Self> {
        let dialer = Dialer::new(&config.clouddriver.grpc, config.clouddriver.tls()?)
            .through(config.clouddriver.proxies(&Env::capture()))
            .with_compression(config.clouddriver.compression);
        let host = &config.server.host;
        let endpoints = serve::bind("health", "server.port", host, config.server.port).await?;
        let prometheus = if config.prometheus.enabled {
            Some(serve::bind("metrics", "prometheus.port", host, config.prometheus.port).await?)
        } else {
            None
        };
        let address = endpoints.local_addr()?;
        Ok(Self { config, id, dialer, endpoints, prometheus, board: Board::default(), address })
    }

    /// Starts everything; it ends with the shutdown.
    pub fn start(self, shutdown: &Shutdown) {
        let Self { config, id, dialer, endpoints, prometheus, board, address } = self;
        let mut registry = Registry::default();
        let metrics = Arc::new(Metrics::register(&mut registry, board.clone()));
        spindrift_process::metrics::register_process(&mut registry);
        let registry = Arc::new(registry);
        let (ready_tx, ready_rx) = watch::channel(Accounts::new());
        let (connected_tx, connected_rx) = watch::channel(false);

        if config.kubernetes.accounts.is_empty() {
            warn!("no accounts are configured (kubernetes.accounts); the agent has nothing to do");
        }
        let budgets = Budgets::new(config.limits());
        let preparing = shutdown.group("accounts");
        for account in &config.kubernetes.accounts {
            board.configured(&account.name);
            let preparation = Preparation {
                options: ApiOptions {
                    request_timeout: (config.timeout_seconds > 0)
                        .then(|| Duration::from_secs(config.timeout_seconds)),
                    insecure: account.insecure,
                    no_proxy: account.no_proxy || config.kubernetes.no_proxy,
                    ..ApiOptions::default()
                },
                config: config.kubernetes.effective(account),
                board: board.clone(),
                metrics: metrics.clone(),
                budgets: budgets.clone(),
                pace: config.kubernetes.watches.pace(),
            };
            preparing.spawn(
                format!("account {}", account.name),
                preparation.run(ready_tx.clone(), preparing.token()),
            );
        }

        let uplink = Uplink {
            dialer,
            agent: id.clone(),
            incarnation: Incarnation::fresh(),
            zone: if config.zone_id.is_empty() { id.to_string() } else { config.zone_id.clone() },
            ready_rx: ready_rx.clone(),
            board: board.clone(),
            metrics,
            connected_tx,
        };
        let pace = BackoffConfig::from(&config.clouddriver.backoff);
        let life = shutdown.clone();
        shutdown.spawn("uplink", async move {
            // Accounts that are still being prepared live as long as the uplink they are prepared for.
            let _preparing = preparing;
            uplink.run(pace, life).await
        });

        let state = EndpointState { board, ready_rx, connected_rx };
        let routes = endpoints::router(state, registry.clone());
        shutdown.spawn(
            "serve.health",
            serve::serve_http(endpoints, plain("health", "server.port"), routes, shutdown.clone()),
        );
        if let Some(listener) = prometheus {
            let routes = spindrift_process::metrics::router(registry);
            let endpoint = plain("metrics", "prometheus.port");
            shutdown.spawn("serve.metrics", serve::serve_http(listener, endpoint, routes, shutdown.clone()));
        }
        info!(agent = %id, %address, accounts = config.kubernetes.accounts.len(), version = crate::VERSION, "agent started");
    }
}

fn plain(name: &'static str, setting: &'static str) -> Endpoint {
    Endpoint { name, setting, expects: Expects::AnyHttp, tls: None, tls_setting: None }
}

/// What this agent is called: the pod's name, or the machine's.
pub fn agent_id(env: &Env) -> anyhow::Result<AgentId> {
    AgentId::parse(&host_name(env).unwrap_or_else(|| "spindrift-agent".into())).context("HOSTNAME")
}
