//! The watch engine of one attached account: which scopes there are, and a state machine for each.
//!
//! ```text
//! discover ──▶ scopes ──Declare──▶ ┌ scope: list ──▶ watch ──▶ … ┐ ──Items──▶ uplink
//!     ▲                            └ scope: resume ─▶ watch ─▶ … ┘
//!     └──────── a CRD changed, or time has passed
//! ```

mod outlet;
mod scope;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use spindrift_model::{
    CacheKinds, Declaration, Item, Resource, ResumePoint, Scope, ScopeDeclaration, ScopeId,
};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use tokio::{sync::Notify, task::JoinSet, time::sleep};
use tracing::{debug, info, warn};

pub use outlet::{Credit, Credited, Hold, Meter, Outlet, OutletOptions, Place};
use scope::ScopeWatch;

use crate::{account::Account, board::Board, metrics::Metrics};

/// CRDs tell when they change; whatever else changes what is served (an aggregated API, an upgrade) is found by this.
const REDISCOVERY: Duration = Duration::from_mins(1);

/// A burst of CRDs is one discovery.
const SETTLE: Duration = Duration::from_millis(200);

/// Discovery that fails is repeated at this pace.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(500),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(30),
};

/// What all scopes of an account share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) account: Arc<Account>,
    pub(crate) board: Board,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) outlet: Outlet,
    /// Rung when what the API server serves may have changed.
    pub(crate) rediscover: Notify,
}

/// The watches of one attachment.
pub struct Engine {
    shared: Arc<Shared>,
    kinds: CacheKinds,
    resume_points: HashMap<Scope, ResumePoint>,
    running: BTreeMap<Scope, Running>,
    tasks: JoinSet<()>,
    next_id: u32,
    /// The groups that the last declaration asked to keep.
    undiscovered: Vec<Arc<str>>,
}

struct Running {
    id: ScopeId,
    resource: Resource,
    task: tokio::task::AbortHandle,
}

// === impl Engine ===

impl Engine {
    /// Watches for an attachment that begins at these resume points.
    pub fn new(
        account: Arc<Account>,
        kinds: CacheKinds,
        resume_points: Vec<ResumePoint>,
        outlet: Outlet,
        board: Board,
        metrics: Arc<Metrics>,
    ) -> Self {
        let shared = Shared { account, board, metrics, outlet, rediscover: Notify::new() };
        Self {
            shared: Arc::new(shared),
            kinds,
            resume_points: resume_points.into_iter().map(|point| (point.scope.clone(), point)).collect(),
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            next_id: 0,
            undiscovered: Vec::new(),
        }
    }

    /// Keeps the right scopes running, until it is dropped.
    pub async fn run(mut self) {
        let mut backoff = Backoff::new(RETRY);
        loop {
            let account = &self.shared.account.description.name;
            self.shared.metrics.kubernetes_requests.inc_by(2);
            match self.shared.account.api.discover().await {
                Ok(discovery) => {
                    backoff.reset();
                    for group in &discovery.undiscovered_groups {
                        self.shared.board.problem(account, format!("API group {group} cannot be discovered"));
                    }
                    let undiscovered = discovery.undiscovered_groups.into_iter().map(Into::into).collect();
                    self.reconcile(discovery.resources, undiscovered).await;
                    tokio::select! {
                        () = self.shared.rediscover.notified() => sleep(SETTLE).await,
                        () = sleep(REDISCOVERY) => {}
                    }
                }
                Err(error) => {
                    let wait = backoff.next();
                    warn!(%account, error = %report(&error), retry_in = ?wait, "discovery failed");
                    self.shared.board.problem(account, format!("discovery failed: {}", report(&error)));
                    sleep(wait).await;
                }
            }
        }
    }

    /// Stops what is no longer served, declares what is, starts what is new.
    async fn reconcile(&mut self, served: Vec<Resource>, undiscovered: Vec<Arc<str>>) {
        let account = self.shared.account.clone();
        let wanted = |resource: &Resource| self.kinds.wants(resource) && account.config.admits(resource);
        let resources: Vec<_> = served.into_iter().filter(wanted).collect();
        let scopes: BTreeMap<Scope, Resource> =
            resources.iter().flat_map(|resource| self.scopes_of(resource)).collect();

        let stale = |scope: &Scope, running: &Running| match scopes.get(scope) {
            Some(resource) => *resource != running.resource,
            // A group that does not answer may be back at once; its watches find out for themselves.
            None => !undiscovered.contains(&scope.group),
        };
        let stopped: Vec<_> =
            self.running.iter().filter(|(s, r)| stale(s, r)).map(|(s, _)| s.clone()).collect();
        let first = self.next_id == 0;
        let unchanged = scopes.keys().all(|scope| self.running.contains_key(scope));
        if !first && stopped.is_empty() && unchanged && self.undiscovered == undiscovered {
            return;
        }
        self.undiscovered.clone_from(&undiscovered);
        self.stop(&stopped).await;
        let fresh: Vec<_> =
            scopes.into_iter().filter(|(scope, _)| !self.running.contains_key(scope)).collect();
        let started: Vec<_> = fresh
            .into_iter()
            .map(|(scope, resource)| {
                self.next_id += 1;
                (scope, resource, ScopeId(self.next_id))
            })
            .collect();
        let running = self
            .running
            .iter()
            .map(|(scope, running)| declare(&account, running.id, scope, &running.resource));
        let new = started.iter().map(|(scope, resource, id)| declare(&account, *id, scope, resource));
        let scopes: Vec<_> = running.chain(new).collect();
        info!(account = %account.description.name, scopes = scopes.len(), stopped = stopped.len(), started = started.len(), "watching");
        self.shared.board.caching(&account.description.name, &resources);
        self.shared
            .outlet
            .send(Item::Declare(Declaration { scopes, undiscovered_groups: undiscovered }))
            .await;
        for (scope, resource, id) in started {
            self.start(scope, resource, id);
        }
        // The hub has let go of what was not declared: should it come back, it has to be listed.
        self.resume_points.retain(|scope, _| self.undiscovered.contains(&scope.group));
    }

    fn scopes_of(&self, resource: &Resource) -> Vec<(Scope, Resource)> {
        let namespaces = &self.shared.account.config.namespaces;
        let scope = |namespace: Option<&String>| Scope {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
            namespace: namespace.map(|namespace| namespace.as_str().into()),
        };
        if !resource.namespaced || namespaces.is_empty() {
            return vec![(scope(None), resource.clone())];
        }
        namespaces.iter().map(|namespace| (scope(Some(namespace)), resource.clone())).collect()
    }

    fn start(&mut self, scope: Scope, resource: Resource, id: ScopeId) {
        let resume = self.resume_points.remove(&scope);
        let watch = ScopeWatch::new(self.shared.clone(), id, scope.clone(), resource.clone(), resume);
        let task = self.tasks.spawn(watch.run());
        self.running.insert(scope, Running { id, resource, task });
    }

    /// Ends watches and waits for them: nothing of theirs may follow the declaration that leaves them out.
    async fn stop(&mut self, scopes: &[Scope]) {
        for scope in scopes {
            if let Some(running) = self.running.remove(scope) {
                running.task.abort();
                while !running.task.is_finished() {
                    if self.tasks.join_next().await.is_none() {
                        break;
                    }
                }
                debug!(account = %self.shared.account.description.name, %scope, "watch ended");
                self.shared.board.unwatched(&self.shared.account.description.name, scope);
            }
        }
    }
}

fn declare(account: &Account, id: ScopeId, scope: &Scope, resource: &Resource) -> ScopeDeclaration {
    let target = account.target(resource.clone(), scope.namespace.clone());
    let scrub_revision = target.scrub_revision();
    ScopeDeclaration { id, resource: target.resource, namespace: target.namespace, scrub_revision }
}
