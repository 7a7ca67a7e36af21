//! The hub put together: everything is opened and bound before anything runs.

mod background;

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use regex::Regex;
use spindrift_model::{AgentId, HubId, TenantId};
use spindrift_process::{
    config::Env,
    daemon::host_name,
    readiness::{Readiness, ReadinessGuard},
    serve::{self, Endpoint, Expects},
    shutdown::Shutdown,
    tls::ServerTls,
};
use spindrift_protocol::DESCRIPTORS;
use tokio::net::TcpListener;
use tracing::info;

use background::{Cleanup, History, Housekeeping, Polling};

use crate::{
    clouddriver::{
        Accounts, Artifacts, Deriving, Front50, Live, RuleBook, Staleness, Tasks, TasksConfig, Upstream,
    },
    config::HubConfig,
    dispatch::{Dispatch, DispatchConfig, Vault, open_vault},
    ingest::{Budget, Committer, CommitterConfig, Feed},
    metrics::Metrics,
    rest::{self, RestState},
    schedule::Schedule,
    session::{HubService, SessionConfig, Sessions, SubjectFilter},
    store::{Store, StoreConfig},
};

/// Agents ping this often unless told otherwise; three missed pings end a session.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A channel is opened right after registration; a token that lies around longer is none.
const TOKEN_TTL: Duration = Duration::from_secs(30);
/// An attachment that shows no sign of life is free for others after this long.
const LEASE: Duration = Duration::from_secs(15);
/// An agent says something every few seconds, a hub every fifteen; who has not for so long is gone.
const SILENCE: Duration = Duration::from_secs(45);
/// What all agents together may have sent that is not committed: 512 accounts in full flood.
const BUDGET_BYTES: usize = 256 * 1024 * 1024;
/// A batch amortises its transaction from here on.
const BATCH_BYTES: u32 = 128 * 1024;

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
    front50: Option<Front50>,
    grpc: TcpListener,
    rest: TcpListener,
    /// Where agents dial.
    pub grpc_address: SocketAddr,
    /// Where REST listens.
    pub rest_address: SocketAddr,
}

/// The gRPC server in the making.
struct GrpcServer {
    listener: TcpListener,
    tls: Option<ServerTls>,
    service: HubService,
    health: bool,
    unready: ReadinessGuard,
}

// === impl Hub ===

impl Hub {
    /// Opens the store and binds the ports; nothing runs yet.
    pub async fn build(config: HubConfig, id: HubId) -> anyhow::Result<Self> {
        let server = &config.kubesvc.grpc.server;
        let tls = server.security.tls()?;
        let subjects = subject_filter(&config)?;
        let upstream = Upstream::build(&config.upstream, id.as_str())?;
        let front50 = Front50::build(&config.services.front50)?;
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
        let schedule = cron.parse().context("kubesvc.jobs.operation-history.purge.cron")?;
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
            front50,
            grpc,
            rest,
            grpc_address,
            rest_address,
        })
    }

    /// Forgets the accounts that this agent once served and does not serve now.
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

    /// Starts everything; it ends with the shutdown.
    pub fn start(self, shutdown: &Shutdown) {
        let Self {
            config,
            id,
            store,
            vault,
            schedule,
            tls,
            subjects,
            upstream,
            front50,
            grpc,
            rest,
            grpc_address,
            rest_address,
        } = self;
        let mut registry = Registry::default();
        let longest = config.kubesvc.ops.process_time.metric.result.max_length;
        let metrics = Arc::new(Metrics::register(&mut registry, longest));
        spindrift_process::metrics::register_process(&mut registry);
        if let Some(upstream) = &upstream {
            upstream.register(&mut registry);
        }
        let feed = Arc::new(Feed::new());
        let tenant = TenantId::default();
        let readiness = Readiness::new();

        let accounts = Accounts::new(store.clone(), tenant.clone(), Arc::new(config.kubesvc.runtime.clone()));
        let rules = RuleBook::new(accounts.clone());
        let deriving = Deriving::new(store.clone(), rules.clone(), tenant.clone(), id.clone());
        shutdown.spawn("store.rows", deriving.run(shutdown.token()));
        let (committer, writer) = Committer::new(
            store.clone(),
            rules.clone(),
            feed.clone(),
            metrics.clone(),
            CommitterConfig::default(),
            shutdown.token(),
        );
        shutdown.spawn("cache.committer", writer);
        let polling = Polling {
            store: store.clone(),
            feed: feed.clone(),
            tenant: tenant.clone(),
            unready: Some(readiness.register("the positions of the feed")),
        };
        shutdown.spawn("cache.feed", polling.run(shutdown.clone()));
        let housekeeping = Housekeeping {
            store: store.clone(),
            base_url: base_url(&id, rest_address),
            id: id.clone(),
            retention: config.sql.tombstone_retention(),
            answers: config.kubesvc.operations.result_retention(),
            unready: Some(readiness.register("the first heartbeat")),
        };
        shutdown.spawn("store.housekeeping", housekeeping.run(shutdown.clone()));
        if let Some(after) = config.kubesvc.cache.account_cleanup() {
            let cleanup = Cleanup {
                store: store.clone(),
                base_url: base_url(&id, rest_address),
                id: id.clone(),
                tenant: tenant.clone(),
                accounts: accounts.clone(),
                after,
                silence: SILENCE,
                unserved: HashMap::new(),
            };
            shutdown.spawn("store.cleanup", cleanup.run(shutdown.clone()));
        }
        let keep = config.kubesvc.jobs.operation_history.purge.keep();
        let history = History { store: store.clone(), keep, schedule };
        shutdown.spawn("operations.history", history.run(shutdown.clone()));

        let operations = &config.kubesvc.operations;
        let dispatch = DispatchConfig {
            hub: id.clone(),
            tenant: tenant.clone(),
            deadline: Duration::from_millis(config.kubesvc.cache.operation_wait_ms),
            retries: operations.retry.max_retries,
            backoff: operations.retry.backoff(),
            bounds: operations.bounds(),
            silence: SILENCE,
        };
        let vault = Arc::new(vault);
        let dispatch = Dispatch::new(dispatch, store.clone(), vault.clone(), metrics.clone(), shutdown);
        dispatch.start();

        let sessions = SessionConfig {
            hub: id.clone(),
            tenant: tenant.clone(),
            kinds: config.kubesvc.cache.kinds().with(config.kubesvc.runtime.custom_kinds()),
            succession_grace: Duration::from_secs(config.kubesvc.cache.narrower_agent_grace_seconds),
            heartbeat: HEARTBEAT,
            token_ttl: TOKEN_TTL,
            lease: LEASE,
            budget: Budget::new(BUDGET_BYTES),
            batch_bytes: BATCH_BYTES,
            subjects,
        };
        let service = HubService::new(
            sessions,
            store.clone(),
            rules,
            committer,
            Sessions::new(shutdown.clone()),
            dispatch.clone(),
            metrics.clone(),
        );
        let encrypted = tls.is_some();
        let health = config.kubesvc.grpc.server.health_service_enabled;
        let server = GrpcServer {
            listener: grpc,
            tls,
            service,
            health,
            unready: readiness.register("the gRPC server"),
        };
        shutdown.spawn("serve.grpc", server.run(shutdown.clone()));

        let live = Live::new(dispatch.clone());
        let kubernetes = Arc::new(config.kubernetes.clone());
        let tasks = TasksConfig { hub: id.clone(), tenant: tenant.clone(), silence: SILENCE, kubernetes };
        let tasks = Tasks::new(tasks, store.clone(), accounts.clone(), live.clone(), vault, shutdown);
        tasks.start();
        let state = RestState {
            marks: Arc::new(config.credentials.marks()),
            staleness: Arc::new(Staleness::new(accounts.clone(), store.clone(), tenant.clone())),
            artifacts: Arc::new(Artifacts::new(&config.artifacts)),
            front50,
            detailed_pod_status: config.kubernetes.jobs.detailed_pod_status,
            store,
            accounts: accounts.clone(),
            live,
            tasks,
            dispatch,
            feed,
            custom_names: Arc::default(),
            readiness,
            tenant,
            metrics,
            shutdown: shutdown.token(),
        };
        let endpoint = Endpoint {
            name: "REST",
            setting: "server.port",
            expects: Expects::AnyHttp,
            tls: None,
            tls_setting: None,
        };
        let routes = rest::router(state, Arc::new(registry));
        let routes = match upstream {
            Some(upstream) => upstream.layer(routes, accounts),
            None => routes,
        };
        shutdown.spawn("serve.rest", serve::serve_http(rest, endpoint, routes, shutdown.clone()));
        info!(hub = %id, grpc = %grpc_address, tls = encrypted, rest = %rest_address, version = crate::VERSION, "hub started");
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

// === impl GrpcServer ===

impl GrpcServer {
    async fn run(self, shutdown: Shutdown) -> anyhow::Result<()> {
        let Self { listener, tls, service, health, unready } = self;
        let endpoint = Endpoint {
            name: "gRPC",
            setting: "kubesvc.grpc.server.port",
            expects: Expects::Http2Only,
            tls,
            tls_setting: Some("kubesvc.grpc.server.security.enabled"),
        };
        let (reporter, health_service) = tonic_health::server::health_reporter();
        reporter.set_serving::<spindrift_protocol::v1::hub_server::HubServer<HubService>>().await;
        let reflection = || {
            tonic_reflection::server::Builder::configure().register_encoded_file_descriptor_set(DESCRIPTORS)
        };
        let incoming = serve::incoming(listener, endpoint, &shutdown);
        let router = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(HEARTBEAT))
            .http2_keepalive_timeout(Some(HEARTBEAT * 2))
            .add_service(service.into_server())
            .add_optional_service(health.then_some(health_service))
            .add_service(reflection().build_v1()?)
            // What grpcurl and the original's users know.
            .add_service(reflection().build_v1alpha()?);
        drop(unready);
        router
            .serve_with_incoming_shutdown(incoming, shutdown.token().cancelled_owned())
            .await
            .context("serve gRPC")
    }
}

/// Where others reach this hub: by its name, where it listens on all addresses.
fn base_url(id: &HubId, rest: SocketAddr) -> String {
    if rest.ip().is_unspecified() { format!("http://{id}:{}", rest.port()) } else { format!("http://{rest}") }
}

/// What this hub is called: the pod's name, or the machine's.
pub fn hub_id(env: &Env) -> anyhow::Result<HubId> {
    HubId::parse(&host_name(env).unwrap_or_else(|| "spindrift-hub".into())).context("HOSTNAME")
}
