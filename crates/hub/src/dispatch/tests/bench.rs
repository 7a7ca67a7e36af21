//! Hubs' dispatches on a real store, and the far end of agents' links.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use spindrift_model::{
    AccountDescription, AccountName, AgentId, ClusterIdentity, Content, Ending, HubId, Incarnation,
    OperationId, Outcome, SessionId, TenantId, Verb,
};
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::{
    Channel, ControlDown, EncodedOperation, Operations, RESULT_PIECE_BYTES, ResultPart, ResultsDown, v1,
};
use spindrift_testkit::{Database, eventually};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::super::{
    Bounds, Dispatch, DispatchConfig, OperationRequest, Vault,
    links::{Joined, Link},
    reconcile::Reconciler,
};
use crate::{
    metrics::Metrics,
    store::{NewSession, OperationRow, OperationState, Seat, Store, StoreConfig, TokenHash},
};

const MINUTE: Duration = Duration::from_mins(1);

/// Dispatch of one run of one hub.
pub(super) struct Bench {
    pub(super) dispatch: Dispatch,
    pub(super) store: Store,
    hub: HubId,
    shutdown: Shutdown,
}

/// Agent's end of a link.
pub(super) struct Peer {
    pub(super) seat: Seat,
    dispatch: Dispatch,
    parts_rx: mpsc::Receiver<Result<v1::ControlDown, Status>>,
    operations: Operations,
    down_tx: mpsc::UnboundedSender<ResultsDown>,
    pub(super) down_rx: mpsc::UnboundedReceiver<ResultsDown>,
    gone: CancellationToken,
    _joined: Joined,
}

// === impl DispatchConfig ===

impl DispatchConfig {
    /// Generous limits, for tests.
    pub(crate) fn generous(hub: HubId) -> Self {
        Self {
            hub,
            tenant: TenantId::default(),
            deadline: MINUTE,
            retries: 2,
            backoff: MINUTE / 2,
            bounds: Bounds { per_account: 100, per_hub: 100, bytes: 1 << 30 },
            silence: MINUTE,
        }
    }
}

// === impl OperationRequest ===

impl OperationRequest {
    /// The same under an id of the caller's.
    pub(super) fn under(self, id: OperationId) -> Self {
        let Self { operation, has_given_id: _, keep } = self;
        Self { operation: spindrift_model::Operation { id, ..operation }, has_given_id: true, keep }
    }
}

// === impl Bench ===

impl Bench {
    /// Starts a hub of this name, which adopts its operations.
    pub(super) async fn start(database: &Database, hub: &str, vault: Vault) -> Self {
        let store = Store::open(&StoreConfig::at(database.url())).await.unwrap();
        let hub = HubId::parse(hub).unwrap();
        store.heartbeat(&hub, "http://hub").await.unwrap();
        let shutdown = Shutdown::new();
        let config = DispatchConfig::generous(hub.clone());
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), 64));
        let dispatch = Dispatch::new(config, store.clone(), Arc::new(vault), metrics, &shutdown);
        dispatch.start();
        store.announce(&TenantId::default(), &agent("agent-a"), &description()).await.unwrap();
        Self { dispatch, store, hub, shutdown }
    }

    /// Adopts the operations of this hub, as the reconciler does at its interval.
    pub(super) async fn look_for_work(&self) {
        Reconciler::new(Arc::clone(&self.dispatch.shared)).take_up().await.unwrap();
    }

    /// Stops the hub; it may be started again.
    pub(super) fn end(self) {
        self.shutdown.trigger();
    }

    /// Connects an agent of a new incarnation.
    pub(super) async fn agent(&self, name: &str) -> Peer {
        self.join(Seat { agent: agent(name), incarnation: Incarnation::fresh() }).await
    }

    /// Connects an agent.
    pub(super) async fn join(&self, seat: Seat) -> Peer {
        let session = NewSession {
            tenant: TenantId::default(),
            id: SessionId::fresh(),
            agent: seat.agent.clone(),
            incarnation: seat.incarnation,
            hub: self.hub.clone(),
            version: "0.1.0".into(),
            zone: String::new(),
            verbs: Verb::NAMES.map(str::to_owned).to_vec(),
            token_hashes: ["c", "e", "r"].map(|token| TokenHash::of(token.as_bytes())),
            token_ttl: MINUTE,
            accounts: vec![account()],
        };
        self.store.open_session(&session).await.unwrap();
        let taken = self.store.take_token(&session.id, Channel::Control, b"c", &self.hub).await.unwrap();
        taken.expect("its token");
        let (parts_tx, parts_rx) = mpsc::channel(1);
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        let gone = CancellationToken::new();
        let link = Link::new(session.id, seat.clone(), parts_tx, gone.clone());
        let joined = self.dispatch.links().join(link);
        let (dispatch, operations) = (self.dispatch.clone(), Operations::default());
        Peer { seat, dispatch, parts_rx, operations, down_tx, down_rx, gone, _joined: joined }
    }

    pub(super) async fn row(&self, id: OperationId) -> OperationRow {
        self.store.operation(&TenantId::default(), id).await.unwrap().expect("it is known")
    }

    pub(super) async fn becomes(&self, id: OperationId, state: OperationState) -> OperationRow {
        eventually!(format!("{id} is {}", state.word()), Duration::from_secs(30), {
            let row = self.row(id).await;
            if row.state == state { Ok(row) } else { Err(format!("{row:?}")) }
        })
    }
}

// === impl Peer ===

impl Peer {
    /// Waits for the next operation; other messages are skipped.
    pub(super) async fn asked(&mut self) -> EncodedOperation {
        loop {
            if let ControlDown::Operation(part) = self.told().await
                && let Some(request) = self.operations.push(part).unwrap()
            {
                return request;
            }
        }
    }

    /// Waits for the next message of the hub.
    pub(super) async fn told(&mut self) -> ControlDown {
        let word = tokio::time::timeout(MINUTE, self.parts_rx.recv()).await.expect("the hub sends");
        ControlDown::try_from(word.expect("the link lives").unwrap()).unwrap()
    }

    /// Waits for the next message about results.
    pub(super) async fn heard(&mut self) -> ResultsDown {
        let word = tokio::time::timeout(MINUTE, self.down_rx.recv()).await.expect("the hub sends");
        word.expect("the channel is open")
    }

    /// Whether the hub has sent nothing.
    pub(super) fn heard_nothing(&mut self) -> bool {
        self.parts_rx.try_recv().is_err()
    }

    pub(super) fn piece(&self, operation: OperationId, offset: u64, chunk: Bytes, outcome: Option<Outcome>) {
        let ending = outcome.map(|outcome| Ending { outcome, took: Duration::from_millis(14) });
        let part = ResultPart { operation, content: Content::Json, offset, chunk, ending };
        self.dispatch.arrived(self.seat.clone(), part, self.down_tx.clone());
    }

    /// Answers in pieces as agents do, without regard to credit.
    pub(super) fn answer(&self, operation: OperationId, body: &[u8], outcome: Outcome) {
        let mut offset = 0;
        let mut outcome = Some(outcome);
        loop {
            let rest = &body[offset..];
            let chunk = Bytes::copy_from_slice(&rest[..rest.len().min(RESULT_PIECE_BYTES)]);
            let is_last = chunk.len() == rest.len();
            let begin = offset as u64;
            offset += chunk.len();
            self.piece(operation, begin, chunk, outcome.take_if(|_| is_last));
            if is_last {
                return;
            }
        }
    }

    /// Breaks the link.
    pub(super) fn leave(self) -> Seat {
        self.gone.cancel();
        self.seat
    }
}

pub(super) const OK: Outcome = Outcome::Succeeded { code: 201 };

pub(super) fn account() -> AccountName {
    AccountName::parse("prod").unwrap()
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

fn description() -> AccountDescription {
    AccountDescription {
        name: account(),
        cluster: ClusterIdentity { host: "https://prod".into(), ..ClusterIdentity::default() },
        kubernetes_version: "v1.36.3".into(),
        namespaces: vec![],
        properties: "{}".into(),
        max_resumable_age: MINUTE,
    }
}

/// Change.
pub(super) fn create(name: &str, data: &str) -> OperationRequest {
    let metadata = json!({ "name": name, "namespace": "shop" });
    request(
        &json!({ "verb": "create", "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "x": data } } }),
    )
}

/// Read.
pub(super) fn list() -> OperationRequest {
    request(&json!({ "verb": "list", "kind": "ConfigMap" }))
}

fn request(verb: &Value) -> OperationRequest {
    let verb = serde_json::from_value(verb.clone()).unwrap();
    OperationRequest::new(None, account(), verb)
}

pub(super) fn key() -> Vault {
    Vault::with_key("key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap()
}
