//! The watch engine of one attached account: which scopes there are, and a state machine for each.
//!
//! ```text
//! discover ──▶ selection ──▶ permissions ──Declare──▶ ┌ scope: queued ──▶ listing ──▶ watching … ┐ ──Items──▶ uplink
//!     ▲                                               └ scope: resuming ──▶ watching …           ┘
//!     └──────── a CRD changed, or time has passed
//! ```

mod budget;
mod filter;
mod permissions;
mod quota;
mod scope;
mod selection;
mod synthetic;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use spindrift_kubernetes::{Discovery, WatchTarget};
use spindrift_model::{
    AccountDescription, CacheKinds, Declaration, DeniedScope, Item, ResumePoint, Scope, ScopeDeclaration,
    ScopeId, ScrubRevision,
};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
    supervisor::{Attended, Death, News},
};
use tokio::{sync::Notify, time::sleep};
use tracing::{debug, error, info, warn};

pub use budget::{AccountBudget, Budgets, Limits};
pub use permissions::Permissions;

use filter::NamespaceFilter;
use quota::Quotas;
use scope::{ScopePlan, ScopeWatch};
use selection::Chosen;

use crate::{
    accounts::Account,
    metrics::Metrics,
    status::{Board, WatchState},
    uplink::Outlet,
};

/// CRDs tell when they change; whatever else changes what is served (an aggregated API, an upgrade) is found by this.
const REDISCOVERY: Duration = Duration::from_mins(1);

/// A burst of CRDs is one discovery.
const SETTLE: Duration = Duration::from_millis(200);

/// What a CRD defines is served some time after its last event; how long nobody tells. So it is looked for again.
const RECHECKS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15)];

/// Discovery that fails is repeated at this pace.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(500),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(30),
};

/// How patient the watches of an account are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// A watch that says nothing for this long is taken for frozen: bookmarks are due every minute.
    pub silence: Duration,
    /// What is forbidden is asked for again after this long.
    pub denied_retry: Duration,
}

/// What all scopes of an account share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) account: Arc<Account>,
    pub(crate) board: Board,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) outlet: Outlet,
    /// Rung when what the API server serves may have changed.
    pub(crate) rediscover: Notify,
    /// Rung when what may be read has changed.
    pub(crate) redeclare: Notify,
}

/// The watches of one attachment.
pub struct Engine {
    shared: Arc<Shared>,
    kinds: CacheKinds,
    resume_points: HashMap<Scope, ResumePoint>,
    running: BTreeMap<Scope, Running>,
    tasks: Attended<Scope, Infallible>,
    quotas: Quotas,
    next_id: u32,
    /// How many of the [`RECHECKS`] were done since the last change of a CRD.
    rechecked: usize,
    /// Whether the hub was told what there is.
    declared: bool,
    /// The groups that the last declaration asked to keep.
    undiscovered: Vec<Arc<str>>,
    /// What the last declaration said may not be read.
    denied: Vec<DeniedScope>,
}

struct Running {
    id: ScopeId,
    chosen: Chosen,
    scrub_revision: ScrubRevision,
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
        let (rediscover, redeclare) = (Notify::new(), Notify::new());
        let shared = Shared { account, board, metrics, outlet, rediscover, redeclare };
        Self {
            shared: Arc::new(shared),
            kinds,
            resume_points: resume_points.into_iter().map(|point| (point.scope.clone(), point)).collect(),
            running: BTreeMap::new(),
            tasks: Attended::new(),
            quotas: Quotas::default(),
            next_id: 0,
            rechecked: RECHECKS.len(),
            declared: false,
            undiscovered: Vec::new(),
            denied: Vec::new(),
        }
    }

    /// Keeps the right scopes running, until it is dropped.
    pub async fn run(mut self) {
        self.shared.account.budget.start().await;
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
                    self.reconcile(&discovery).await;
                    self.until_rediscovery().await;
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

    /// Waits until there may be something new to discover; tells the hub meanwhile what may be read and what not.
    async fn until_rediscovery(&mut self) {
        let pause = RECHECKS.get(self.rechecked).copied().unwrap_or(REDISCOVERY);
        let mut due = std::pin::pin!(sleep(pause));
        let shared = self.shared.clone();
        loop {
            tokio::select! {
                () = shared.rediscover.notified() => {
                    self.rechecked = 0;
                    return sleep(SETTLE).await;
                }
                () = shared.redeclare.notified() => self.redeclare().await,
                news = self.tasks.next() => match news {
                    News::Died(death) => self.died(death),
                    News::Due(scope) => self.restart(scope).await,
                    News::Ended(_, never) => match never {},
                },
                () = &mut due => {
                    self.rechecked = self.rechecked.saturating_add(1);
                    return;
                }
            }
        }
    }

    /// Stops what is no longer served, declares what is, starts what is new.
    async fn reconcile(&mut self, discovery: &Discovery) {
        let account = self.shared.account.clone();
        account.redactions.add_short_names(discovery);
        let undiscovered: Vec<Arc<str>> =
            discovery.undiscovered_groups.iter().map(|group| group.as_str().into()).collect();
        let scopes = selection::scopes(&account.config, &self.kinds, discovery);

        let stale = |scope: &Scope, running: &Running| match scopes.get(scope) {
            Some(chosen) => *chosen != running.chosen || self.aim(scope, chosen).2 != running.scrub_revision,
            // A group that does not answer may be back at once; its watches find out for themselves.
            None => !undiscovered.contains(&scope.group),
        };
        let stopped: Vec<_> =
            self.running.iter().filter(|(s, r)| stale(s, r)).map(|(s, _)| s.clone()).collect();
        let first = !std::mem::replace(&mut self.declared, true);
        let unchanged = scopes.keys().all(|scope| self.running.contains_key(scope));
        if !first && stopped.is_empty() && unchanged && self.undiscovered == undiscovered {
            return;
        }
        self.undiscovered = undiscovered;
        self.stop(&stopped).await;
        let kinds: BTreeSet<_> = scopes.values().map(|chosen| chosen.resource.kind_and_group()).collect();
        let kinds: Vec<_> = kinds.into_iter().collect();
        let fresh: Vec<_> =
            scopes.into_iter().filter(|(scope, _)| !self.running.contains_key(scope)).collect();
        let read = fresh.iter().filter(|(_, chosen)| chosen.read);
        let asked = read.map(|(scope, chosen)| (scope.clone(), chosen.resource.clone())).collect();
        if account.config.check_permissions_on_startup {
            account.permissions.examine(&account.api, asked).await;
        }
        let started: Vec<_> = fresh.into_iter().map(|(scope, chosen)| self.plan(scope, chosen)).collect();
        info!(account = %account.description.name, scopes = self.running.len() + started.len(), stopped = stopped.len(), started = started.len(), "Using kind list: [{}]", kinds.join(", "));
        if first {
            self.tell_result(kinds.len());
            self.warn_of_unknown_kinds(discovery);
        }
        self.shared.board.caching(&account.description.name, kinds);
        self.declare(&started).await;
        for plan in started {
            self.start(plan);
        }
        // The hub has let go of what was not declared: should it come back, it has to be listed.
        self.resume_points.retain(|scope, _| self.undiscovered.contains(&scope.group));
    }

    /// Tells the hub all that is watched, and what of it may not be read.
    async fn declare(&mut self, started: &[ScopePlan]) {
        let running = self
            .running
            .iter()
            .map(|(scope, running)| (running.id, scope, &running.chosen.resource, running.scrub_revision));
        let new =
            started.iter().map(|plan| (plan.id, &plan.scope, &plan.chosen.resource, plan.scrub_revision));
        let scopes = running.chain(new).map(|(id, scope, resource, scrub_revision)| {
            let (resource, namespace) = (resource.clone(), scope.namespace.clone());
            ScopeDeclaration { id, resource, namespace, scrub_revision }
        });
        let mut scopes: Vec<_> = scopes.collect();
        scopes.sort_by_key(|declared| declared.id);
        self.denied = self.denied_now(scopes.iter().map(|declared| (declared.id, declared.scope())));
        let (undiscovered_groups, denied) = (self.undiscovered.clone(), self.denied.clone());
        let declaration = Declaration { scopes, undiscovered_groups, denied };
        self.shared.outlet.send(Item::Declare(declaration)).await;
    }

    /// Declares anew if what may be read has changed since the last time.
    async fn redeclare(&mut self) {
        let mut running: Vec<_> =
            self.running.iter().map(|(scope, running)| (running.id, scope.clone())).collect();
        running.sort_by_key(|(id, _)| *id);
        if self.denied_now(running) != self.denied {
            self.declare(&[]).await;
        }
    }

    fn denied_now(&self, scopes: impl IntoIterator<Item = (ScopeId, Scope)>) -> Vec<DeniedScope> {
        let permissions = &self.shared.account.permissions;
        let denied = |(id, scope): (ScopeId, Scope)| {
            permissions.denial(&scope).map(|denial| DeniedScope { id, reason: denial.reason })
        };
        scopes.into_iter().filter_map(denied).collect()
    }

    fn plan(&mut self, scope: Scope, chosen: Chosen) -> ScopePlan {
        self.next_id += 1;
        let (target, filter, scrub_revision) = self.aim(&scope, &chosen);
        let quota = self.quotas.of(&chosen);
        // Which objects of a scope have a place is known to whoever listed it.
        let resume = self.resume_points.remove(&scope).filter(|_| quota.is_none());
        ScopePlan { id: ScopeId(self.next_id), scope, chosen, target, filter, quota, scrub_revision, resume }
    }

    /// What is watched of a scope, and what of that may be told.
    fn aim(&self, scope: &Scope, chosen: &Chosen) -> (WatchTarget, NamespaceFilter, ScrubRevision) {
        let account = &self.shared.account;
        let target = account.target(chosen.resource.clone(), scope.namespace.clone());
        let filter = NamespaceFilter::new(&account.config, &chosen.resource);
        let scrub_revision = quota::revise(filter.revise(target.scrub_revision()), chosen.most);
        (target, filter, scrub_revision)
    }

    fn start(&mut self, plan: ScopePlan) {
        let (id, scope, chosen) = (plan.id, plan.scope.clone(), plan.chosen.clone());
        let scrub_revision = plan.scrub_revision;
        self.tasks.start(scope.clone(), ScopeWatch::new(self.shared.clone(), plan).run());
        self.running.insert(scope, Running { id, chosen, scrub_revision });
    }

    /// A watch panicked, which is a bug. It is its own affair: the others go on, and so does the account.
    fn died(&self, Death { key: scope, words, pause }: Death<Scope>) {
        let Shared { account, board, .. } = &*self.shared;
        let account = &account.description.name;
        error!(%account, %scope, error = words, retry_in = ?pause, "a watch has died and is started again");
        board.problem(account, format!("the watch of {scope} has died and is started again: {words}"));
        board.watch(account, &scope, WatchState::Waiting, Some(words));
    }

    /// Starts the watch of a scope again, under another id: what the dead one said does not count any more.
    async fn restart(&mut self, scope: Scope) {
        let Some(Running { chosen, .. }) = self.running.remove(&scope) else { return };
        let plan = self.plan(scope, chosen);
        self.declare(std::slice::from_ref(&plan)).await;
        self.start(plan);
    }

    /// Ends watches and waits for them: nothing of theirs may follow the declaration that leaves them out.
    async fn stop(&mut self, scopes: &[Scope]) {
        for scope in scopes {
            if self.running.remove(scope).is_some() {
                self.tasks.stop(scope).await;
                debug!(account = %self.shared.account.description.name, %scope, "watch ended");
                self.quotas.leave(scope);
                self.shared.account.permissions.forget(scope);
                self.shared.board.unwatched(&self.shared.account.description.name, scope);
            }
        }
    }

    /// Says in the original's words what became of an account's discovery.
    fn tell_result(&self, kinds: usize) {
        let AccountDescription { name, namespaces, .. } = &self.shared.account.description;
        let (namespaces, errors) = (namespaces.len(), self.undiscovered.len());
        info!(
            account = %name, namespaces, kinds, errors,
            "Account discovery result received: account={name}, namespaces={namespaces}, kinds={kinds}, errors={errors}"
        );
    }

    /// A kind that is misspelt, or not installed yet, would be missed, cached or shown without a word.
    fn warn_of_unknown_kinds(&self, discovery: &Discovery) {
        let account = &*self.shared.account;
        let name = &account.description.name;
        for (setting, kind) in account.unserved_kinds(discovery) {
            warn!(account = %name, kind, "the API server serves no such kind ({setting})");
            self.shared.board.problem(name, format!("the API server serves no kind {kind:?} ({setting})"));
        }
    }
}

/// The same at every start and on every machine (FNV-1a), unlike the standard library's.
fn stable_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests;
