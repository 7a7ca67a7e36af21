//! Assembly of the agent: reads all files and binds all ports before anything runs.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use prometheus_client::registry::Registry;
use spindrift_model::{AgentId, Incarnation};
use spindrift_process::{
    backoff::BackoffConfig,
    config::Env,
    daemon::{host_name, pod_namespace},
    serve::{self, Endpoint, Expects, SitePolicy},
    shutdown::Shutdown,
    tls::{ClientAuth, ServerTls},
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch as latest},
};
use tracing::{info, warn};

use crate::{
    accounts::{
        Accounts,
        configured::ConfiguredAccounts,
        reload::{Configuration, Reload, Source},
    },
    endpoints::{self, EndpointState},
    metrics::Metrics,
    operate::Executor,
    status::AgentStatus,
    uplink::{Bearer, Dialer, Link, Uplink, zone},
    watch::{self, Budgets},
};

/// Attached accounts whose watches have not started: starting one takes no time.
const ATTACHED_ACCOUNTS: usize = 16;

/// An agent whose files are read and whose ports are bound.
pub struct Agent {
    source: Source,
    id: AgentId,
    zone: String,
    dialer: Dialer,
    endpoints: TcpListener,
    tls: Option<ServerTls>,
    prometheus: Option<TcpListener>,
    pprof: Option<TcpListener>,
    /// Status that operators see.
    pub status: AgentStatus,
    /// Address of the health and administration endpoints.
    pub address: SocketAddr,
}

// === impl Agent ===

impl Agent {
    /// Reads the TLS files and binds the ports; nothing runs yet.
    pub async fn build(source: Source, id: AgentId, env: &Env) -> anyhow::Result<Self> {
        let config = &source.loaded.settings;
        let dialer = Dialer::new(&config.clouddriver.grpc, config.clouddriver.tls()?)
            .through(config.clouddriver.proxies(env))
            .with_compression(config.clouddriver.compression);
        let tls = config.server.ssl.tls()?;
        let host = &config.server.host;
        let endpoints = serve::bind("health", "server.port", host, config.server.port).await?;
        let prometheus = if config.prometheus.enabled {
            Some(serve::bind("metrics", "prometheus.port", host, config.prometheus.port).await?)
        } else {
            None
        };
        let pprof = if config.pprof.enabled {
            Some(serve::bind("debugging", "pprof.port", host, config.pprof.port).await?)
        } else {
            None
        };
        let zone = match config.zone_id.as_str() {
            "" => zone(id.as_str(), pod_namespace(env).as_deref()),
            zone => zone.to_owned(),
        };
        let (address, status) = (endpoints.local_addr()?, AgentStatus::default());
        Ok(Self { source, id, zone, dialer, endpoints, tls, prometheus, pprof, status, address })
    }

    /// Starts all tasks; they end with the shutdown.
    pub fn start(self, shutdown: &Shutdown) {
        let Self { source, id, zone, dialer, endpoints, tls, prometheus, pprof, status, address } = self;
        let config = source.loaded.settings.clone();
        let is_encrypted = tls.is_some();
        let is_open = address.ip().is_unspecified() && config.server.ssl.client_auth != ClientAuth::Require;
        let mut registry = Registry::default();
        let metrics = Arc::new(Metrics::register(&mut registry, status.clone()));
        spindrift_process::metrics::register_process(&mut registry);
        spindrift_process::metrics::register_build(&mut registry, "spindrift-agent", crate::VERSION);
        let registry = Arc::new(registry);
        let (ready_tx, ready_rx) = latest::channel(Accounts::new());
        let (link_tx, link_rx) = latest::channel(Link::default());
        let (shown_tx, shown_rx) = latest::channel(Configuration::default());
        let logging = source.logging.clone();

        let budgets = Budgets::new(config.limits());
        let configured =
            ConfiguredAccounts::new(ready_tx, status.clone(), metrics.clone(), budgets, shutdown.clone());
        let reload = Reload { source, configured, shown_tx };
        shutdown.spawn("accounts", reload.run(shutdown.token()));

        // The uplink sends every attached account to the watch engine, which sends items back through its flow control.
        let (attached_tx, attached_rx) = mpsc::channel(ATTACHED_ACCOUNTS);
        shutdown.spawn("watch", watch::run(attached_rx, status.clone(), metrics.clone()));

        let executor = Executor::new(&config, ready_rx.clone(), metrics.clone(), shutdown);
        let operations = executor.running();
        let uplink = Uplink {
            dialer,
            bearer: Bearer::new(config.clouddriver.auth.clone()),
            config: config.clouddriver.clone(),
            min_pause: config.kubernetes.reconnect_timeout_ms.map(Duration::from_millis),
            agent: id.clone(),
            incarnation: Incarnation::fresh(),
            zone,
            ready_rx: ready_rx.clone(),
            status: status.clone(),
            metrics,
            executor,
            attached_tx,
            link_tx,
        };
        let reconnect = BackoffConfig::from(&config.clouddriver.backoff);
        shutdown.spawn("uplink", uplink.run(reconnect, shutdown.clone()));

        let (tasks, remote_changes) = (shutdown.clone(), config.server.remote_changes);
        let state =
            EndpointState { status, ready_rx, link_rx, shown_rx, logging, remote_changes, operations, tasks };
        let routes =
            endpoints::router(state.clone()).merge(spindrift_process::metrics::router(registry.clone()));
        let server = &config.server;
        let policy = SitePolicy::new(address, &server.allowed_hosts, &server.allowed_origins);
        let serve = |name, setting, listener, tls: Option<ServerTls>, routes| {
            let tls_setting = Some("server.ssl.enabled").filter(|_| name == "health");
            let endpoint = Endpoint { name, setting, expects: Expects::AnyHttp, tls, tls_setting };
            let routes = policy.clone().protect(routes);
            let serving = serve::serve_http(listener, endpoint, routes, shutdown.clone());
            shutdown.spawn(format!("serve.{name}"), serving);
        };
        serve("health", "server.port", endpoints, tls, routes);
        if let Some(listener) = prometheus {
            serve("metrics", "prometheus.port", listener, None, spindrift_process::metrics::router(registry));
        }
        if let Some(listener) = pprof {
            serve("debugging", "pprof.port", listener, None, endpoints::debug().with_state(state));
        }
        if is_open {
            warn!(
                "the agent listens on all addresses without {}: {address} shows accounts, watches and metrics; set \
                 server.ssl.enabled and server.ssl.clientAuth, or bind another server.host",
                if is_encrypted { "authentication" } else { "TLS and authentication" }
            );
        }
        info!(agent = %id, %address, accounts = config.kubernetes.accounts.len(), version = crate::VERSION, "agent started");
    }
}

/// Returns the name of this agent: that of its pod, or of its machine.
pub fn agent_id(env: &Env) -> anyhow::Result<AgentId> {
    AgentId::parse(&host_name(env).unwrap_or_else(|| "spindrift-agent".into())).context("HOSTNAME")
}
