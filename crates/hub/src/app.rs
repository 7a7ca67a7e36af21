//! The hub as a process: opens the store and binds the ports before it starts any task.

mod background;
mod parts;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use regex::Regex;
use spindrift_model::{AgentId, HubId, TenantId};
use spindrift_process::{
    config::Env,
    daemon::host_name,
    readiness::Readiness,
    schedule::Schedule,
    serve::{self, SitePolicy},
    shutdown::Shutdown,
    tls::{ClientAuth, ServerTls},
};
use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::{
    clouddriver::{AccountRowRules, Accounts, Artifacts, Front50, Upstream},
    config::HubConfig,
    dispatch::{Vault, open_vault},
    ingest::Feed,
    metrics::{DatabaseConnections, Metrics},
    session::SubjectFilter,
    store::{Store, StoreConfig, WriteProbe},
};
use parts::{Parts, RestServer};

/// A hub whose ports are bound and whose store is open.
pub struct Hub {
    config: HubConfig,
    id: HubId,
    store: Store,
    vault: Vault,
    schedule: Schedule,
    tls: Option<ServerTls>,
    subjects: SubjectFilter,
    upstream: Option<Upstream>,
    artifacts: Artifacts,
    front50: Option<Front50>,
    grpc: TcpListener,
    rest: TcpListener,
    /// Address of the gRPC server.
    pub grpc_address: SocketAddr,
    /// Address of the REST server.
    pub rest_address: SocketAddr,
}

// === impl Hub ===

impl Hub {
    /// Opens the store and binds the ports; nothing runs yet.
    pub async fn build(config: HubConfig, id: HubId) -> anyhow::Result<Self> {
        let server = &config.kubesvc.grpc.server;
        let tls = server.security.tls()?;
        let subjects = subject_filter(&config)?;
        let upstream = Upstream::build(&config.upstream, id.as_str())?;
        let env = Env::capture();
        let front50 = Front50::build(&config.services.front50, &env)?;
        let artifacts = Artifacts::build(&config.artifacts, &env)?;
        let grpc_host = if server.address == "*" { "" } else { &server.address };
        let grpc = serve::bind("gRPC", "kubesvc.grpc.server.port", grpc_host, server.port).await?;
        let rest = serve::bind("REST", "server.port", &config.server.host, config.server.port).await?;
        let store = StoreConfig {
            url: config.sql.url.clone(),
            readers: config.sql.readers,
            writers: config.sql.writers,
        };
        let store = Store::open(&store).await.context("open the store (sql.url)")?;
        let vault = open_vault(&config)?;
        let cron = &config.kubesvc.jobs.operation_history.purge.cron;
        let schedule = Schedule::spring(cron).context("kubesvc.jobs.operation-history.purge.cron")?;
        config.kubesvc.runtime.check().map_err(anyhow::Error::msg)?;
        let (grpc_address, rest_address) = (grpc.local_addr()?, rest.local_addr()?);
        Ok(Self {
            config,
            id,
            store,
            vault,
            schedule,
            tls,
            subjects,
            upstream,
            artifacts,
            front50,
            grpc,
            rest,
            grpc_address,
            rest_address,
        })
    }

    /// Deletes the accounts that this agent served before and does not serve now.
    pub async fn forget_all_but(&self, agent: &AgentId, accounts: &[String]) -> anyhow::Result<()> {
        let tenant = TenantId::default();
        for row in self.store.accounts(&tenant).await? {
            let name = &row.description.name;
            if row.announced_by == *agent && !accounts.iter().any(|account| account == name.as_str()) {
                self.store.forget_account(&tenant, name).await?;
            }
        }
        Ok(())
    }

    /// Describes the ports that everybody in the network may use, if there are any.
    fn open_ports(&self) -> Option<String> {
        let security = &self.config.kubesvc.grpc.server.security;
        let mut ports = Vec::new();
        if self.grpc_address.ip().is_unspecified() && security.client_auth != ClientAuth::Require {
            let tls =
                if self.tls.is_some() { "" } else { "no TLS (kubesvc.grpc.server.security.enabled) and " };
            ports.push(format!(
                "gRPC on {} has {tls}no authentication of agents (kubesvc.grpc.server.security.clientAuth: REQUIRE), or \
                 bind another kubesvc.grpc.server.address",
                self.grpc_address
            ));
        }
        if self.rest_address.ip().is_unspecified() {
            ports.push(format!(
                "REST on {} has no TLS and no authentication; bind another server.host, with a proxy before it",
                self.rest_address
            ));
        }
        let ports = ports.join("; ");
        (!ports.is_empty()).then(|| format!("the hub listens on all addresses: {ports}"))
    }

    /// Starts all subsystems; they end with the shutdown.
    pub fn start(self, shutdown: &Shutdown) {
        let mut registry = Registry::default();
        let longest = self.config.kubesvc.ops.process_time.metric.result.max_length;
        let metrics = Arc::new(Metrics::register(&mut registry, longest));
        spindrift_process::metrics::register_process(&mut registry);
        spindrift_process::metrics::register_build(&mut registry, "spindrift-hub", crate::VERSION);
        registry.register_collector(Box::new(DatabaseConnections(self.store.clone())));
        if let Some(upstream) = &self.upstream {
            upstream.register(&mut registry);
        }
        let open_ports = self.open_ports();
        let tenant = TenantId::default();
        let server = self.config.server.clone();
        let runtime = Arc::new(self.config.kubesvc.runtime.clone());
        let base_url = base_url(&self.id, self.rest_address);
        let parts = Parts {
            probe: Arc::new(WriteProbe::new(self.store.clone(), self.id.clone(), base_url)),
            accounts: Accounts::new(self.store.clone(), tenant.clone(), runtime),
            store: self.store,
            vault: Arc::new(self.vault),
            feed: Arc::new(Feed::new()),
            readiness: Readiness::new(),
            config: self.config,
            id: self.id.clone(),
            shutdown: shutdown.clone(),
            tenant,
            metrics,
        };
        let rules = AccountRowRules::new(parts.accounts.clone());
        parts.start_background(&rules, self.schedule);
        let dispatch = parts.start_dispatch();
        let encrypted = self.tls.is_some();
        let ingest = parts.start_ingest(&rules);
        let service = parts.sessions(rules, ingest, &dispatch, self.subjects);
        parts.start_grpc(self.grpc, self.tls, service);
        let policy = SitePolicy::new(self.rest_address, &server.allowed_hosts, &server.allowed_origins);
        let rest = RestServer {
            listener: self.rest,
            policy,
            upstream: self.upstream,
            artifacts: self.artifacts,
            front50: self.front50,
            registry: Arc::new(registry),
        };
        parts.start_rest(rest, dispatch);
        if let Some(warning) = &open_ports {
            warn!("{warning}");
        }
        info!(hub = %self.id, grpc = %self.grpc_address, tls = encrypted, rest = %self.rest_address, version = crate::VERSION, "hub started");
    }
}

fn subject_filter(config: &HubConfig) -> anyhow::Result<SubjectFilter> {
    let x509 = &config.kubesvc.grpc.auth.x509;
    if !x509.enabled {
        return Ok(SubjectFilter::default());
    }
    let patterns = x509.filters.iter().map(|filter| Regex::new(filter)).collect::<Result<_, _>>();
    Ok(SubjectFilter::any_of(
        patterns.context("kubesvc.grpc.auth.x509.filters: expected regular expressions")?,
    ))
}

/// Returns the URL of this hub for others: by its name if it listens on all addresses.
fn base_url(id: &HubId, rest: SocketAddr) -> String {
    if rest.ip().is_unspecified() { format!("http://{id}:{}", rest.port()) } else { format!("http://{rest}") }
}

/// Returns the id of this hub: the name of the pod, or of the machine.
pub fn hub_id(env: &Env) -> anyhow::Result<HubId> {
    HubId::parse(&host_name(env).unwrap_or_else(|| "spindrift-hub".into())).context("HOSTNAME")
}
