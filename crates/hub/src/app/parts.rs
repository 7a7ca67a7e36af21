//! Subsystems of the hub, each started by one function.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use spindrift_model::{HubId, TenantId};
use spindrift_process::{
    readiness::{Readiness, ReadinessGuard},
    schedule::Schedule,
    serve::{self, Endpoint, Expects, SitePolicy},
    shutdown::Shutdown,
    tls::ServerTls,
};
use spindrift_protocol::DESCRIPTORS;
use tokio::{net::TcpListener, time::Instant};

use super::background::{Cleanup, Heartbeat, History, Housekeeping, Polling};
use crate::{
    clouddriver::{
        AccountRowRules, Accounts, Artifacts, Front50, Live, RowRederivation, Staleness, Tasks, TasksConfig,
        Upstream,
    },
    config::HubConfig,
    dispatch::{Dispatch, DispatchConfig, Vault},
    ingest::{Committer, CommitterConfig, CreditBudget, Feed, Ingest, IngestConfig},
    metrics::Metrics,
    rest::{self, ReadBuffers, RestState},
    session::{Context, HubService, SessionConfig, Sessions, SubjectFilter, unfinished_messages},
    store::{Store, WriteProbe},
};

/// Interval at which agents ping; three missed pings end a session.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Lifetime of a channel token: agents open their channels right after registration.
const TOKEN_TTL: Duration = Duration::from_secs(30);
/// Duration after which an attachment without a sign of life may be taken over.
const LEASE: Duration = Duration::from_secs(15);
/// Duration after which a silent peer counts as gone: agents send every few seconds, hubs every fifteen.
const SILENCE: Duration = Duration::from_secs(45);
/// Credit of all agents together: 512 accounts with the largest credit of 512 KiB each.
const BUDGET_BYTES: usize = 256 * 1024 * 1024;
/// Size from which a batch amortises its transaction.
const BATCH_BYTES: u32 = 128 * 1024;

/// Calls of one connection at a time: an agent has three channels and a registration.
const STREAMS: u32 = 64;
/// Metadata of a call: some names, and a bearer token that may list many groups.
const HEADER_LIST_BYTES: u32 = 32 * 1024;
/// Bytes that a peer may send before a channel has read them; enough for 20 MiB/s over a round trip of 50 ms, see docs/benchmarks.md.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// The same over all channels of a connection. More than one channel's, so that an unread one does not stop the others.
const CONNECTION_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// State that the subsystems of a hub share.
pub(super) struct Parts {
    pub(super) config: HubConfig,
    pub(super) id: HubId,
    pub(super) tenant: TenantId,
    pub(super) store: Store,
    pub(super) probe: Arc<WriteProbe>,
    pub(super) vault: Arc<Vault>,
    pub(super) accounts: Accounts,
    pub(super) feed: Arc<Feed>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) readiness: Readiness,
    pub(super) shutdown: Shutdown,
}

/// The REST server before it is started.
pub(super) struct RestServer {
    pub(super) listener: TcpListener,
    pub(super) policy: SitePolicy,
    pub(super) upstream: Option<Upstream>,
    pub(super) artifacts: Artifacts,
    pub(super) front50: Option<Front50>,
    pub(super) registry: Arc<Registry>,
}

/// A gRPC server before it is started.
struct GrpcEndpoint {
    listener: TcpListener,
    tls: Option<ServerTls>,
    service: HubService,
    health: bool,
    unready: ReadinessGuard,
}

// === impl Parts ===

impl Parts {
    /// Starts the periodic tasks on the store.
    pub(super) fn start_background(&self, rules: &AccountRowRules, schedule: Schedule) {
        let Self { config, shutdown, store, .. } = self;
        let deriving =
            RowRederivation::new(store.clone(), rules.clone(), self.tenant.clone(), self.id.clone());
        shutdown.spawn("store.rows", deriving.run(shutdown.token()));
        let polling = Polling {
            store: store.clone(),
            feed: self.feed.clone(),
            tenant: self.tenant.clone(),
            unready: Some(self.readiness.register("the positions of the feed")),
        };
        shutdown.spawn("cache.feed", polling.run(shutdown.clone()));
        let unready = Some(self.readiness.register("the first heartbeat"));
        let heartbeat = Heartbeat { probe: self.probe.clone(), unready };
        shutdown.spawn("store.heartbeat", heartbeat.run(shutdown.clone()));
        let housekeeping = Housekeeping {
            store: store.clone(),
            retention: config.sql.tombstone_retention(),
            answers: config.kubesvc.operations.result_retention(),
            tenant: self.tenant.clone(),
            metrics: self.metrics.clone(),
            silence: SILENCE,
        };
        shutdown.spawn("store.housekeeping", housekeeping.run(shutdown.clone()));
        if let Some(after) = config.kubesvc.cache.account_cleanup() {
            let cleanup = Cleanup {
                store: store.clone(),
                probe: self.probe.clone(),
                tenant: self.tenant.clone(),
                accounts: self.accounts.clone(),
                after,
                silence: SILENCE,
                reachable_since: Instant::now(),
            };
            shutdown.spawn("store.cleanup", cleanup.run(shutdown.clone()));
        }
        let keep = config.kubesvc.jobs.operation_history.purge.keep();
        let history = History { store: store.clone(), keep, schedule };
        shutdown.spawn("operations.history", history.run(shutdown.clone()));
    }

    /// Starts the task that commits batches.
    pub(super) fn start_ingest(&self, rules: &AccountRowRules) -> Arc<Ingest> {
        let (committer, writer) = Committer::new(
            self.store.clone(),
            self.probe.clone(),
            self.feed.clone(),
            self.metrics.clone(),
            CommitterConfig::default(),
            self.shutdown.token(),
        );
        self.shutdown.spawn("cache.committer", writer);
        let config = IngestConfig {
            hub: self.id.clone(),
            kinds: self.config.cached_kinds(),
            lease: LEASE,
            budget: CreditBudget::new(BUDGET_BYTES),
            coverage_grace: Duration::from_secs(self.config.kubesvc.cache.narrower_agent_grace_seconds),
        };
        let rules = Arc::new(rules.clone());
        Arc::new(Ingest::new(config, self.store.clone(), rules, committer, self.metrics.clone()))
    }

    /// Starts the delivery of operations to agents.
    pub(super) fn start_dispatch(&self) -> Dispatch {
        let operations = &self.config.kubesvc.operations;
        let config = DispatchConfig {
            hub: self.id.clone(),
            tenant: self.tenant.clone(),
            deadline: Duration::from_millis(self.config.kubesvc.cache.operation_wait_ms),
            retries: operations.retry.max_retries,
            backoff: operations.retry.backoff(),
            bounds: operations.bounds(),
            silence: SILENCE,
        };
        let (store, vault, metrics) = (self.store.clone(), self.vault.clone(), self.metrics.clone());
        let dispatch = Dispatch::new(config, store, vault, metrics, &self.shutdown);
        dispatch.start();
        dispatch
    }

    /// Builds the service that agents call.
    pub(super) fn sessions(
        &self,
        rules: AccountRowRules,
        ingest: Arc<Ingest>,
        dispatch: &Dispatch,
        subjects: SubjectFilter,
    ) -> HubService {
        let config = SessionConfig {
            hub: self.id.clone(),
            tenant: self.tenant.clone(),
            kinds: self.config.cached_kinds(),
            heartbeat: HEARTBEAT,
            token_ttl: TOKEN_TTL,
            batch_bytes: BATCH_BYTES,
            account_limits: self.config.kubesvc.accounts.limits.limits(),
            subjects,
            runtime: self.config.kubesvc.runtime.clone(),
        };
        HubService::new(Context {
            config,
            store: self.store.clone(),
            rules: Arc::new(rules),
            ingest,
            sessions: Sessions::new(self.shutdown.clone()),
            dispatch: dispatch.clone(),
            unfinished: unfinished_messages(),
            metrics: self.metrics.clone(),
        })
    }

    /// Starts the gRPC server.
    pub(super) fn start_grpc(&self, listener: TcpListener, tls: Option<ServerTls>, service: HubService) {
        let health = self.config.kubesvc.grpc.server.health_service_enabled;
        let unready = self.readiness.register("the gRPC server");
        let server = GrpcEndpoint { listener, tls, service, health, unready };
        self.shutdown.spawn("serve.grpc", server.run(self.shutdown.clone()));
    }

    /// Starts Clouddriver's tasks and the REST server.
    pub(super) fn start_rest(self, server: RestServer, dispatch: Dispatch) {
        let Self { config, id, tenant, store, probe, vault, accounts, feed, metrics, readiness, shutdown } =
            self;
        let RestServer { listener, policy, upstream, artifacts, front50, registry } = server;
        let live = Live::new(dispatch.clone());
        let kubernetes = Arc::new(config.kubernetes.clone());
        let tasks = TasksConfig { hub: id, tenant: tenant.clone(), silence: SILENCE, kubernetes };
        let tasks = Tasks::new(tasks, store.clone(), accounts.clone(), live.clone(), vault, &shutdown);
        tasks.start();
        let read_buffers = ReadBuffers::new(metrics.clone());
        shutdown.spawn("rest.readers", read_buffers.clone().sweep(shutdown.token()));
        let state = RestState {
            read_buffers,
            marks: Arc::new(config.credentials.marks()),
            staleness: Arc::new(Staleness::new(accounts.clone(), store.clone(), tenant.clone())),
            artifacts: Arc::new(artifacts),
            front50: front50.map(Arc::new),
            detailed_pod_status: config.kubernetes.jobs.detailed_pod_status,
            store,
            probe,
            accounts: accounts.clone(),
            live,
            tasks,
            dispatch,
            feed,
            kinds: Arc::new(config.cached_kinds()),
            custom_names: Arc::default(),
            served_kinds: Arc::default(),
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
        let routes = rest::router(state, registry);
        let routes = match upstream {
            Some(upstream) => upstream.layer(routes, accounts),
            None => routes,
        };
        let routes = policy.protect(routes);
        shutdown.spawn("serve.rest", serve::serve_http(listener, endpoint, routes, shutdown.clone()));
    }
}

// === impl GrpcEndpoint ===

impl GrpcEndpoint {
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
            .max_concurrent_streams(STREAMS)
            .http2_max_header_list_size(HEADER_LIST_BYTES)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .add_service(service.into_server())
            .add_optional_service(health.then_some(health_service))
            .add_service(reflection().build_v1()?)
            // For older versions of grpcurl, and as the original serves it.
            .add_service(reflection().build_v1alpha()?);
        drop(unready);
        router
            .serve_with_incoming_shutdown(incoming, shutdown.token().cancelled_owned())
            .await
            .context("serve gRPC")
    }
}
