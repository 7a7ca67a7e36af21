//! Watch engine of an attached account: selects its scopes, and runs a state machine for each.
//!
//! ```text
//! discover ──▶ selection ──▶ permissions ──Declare──▶ ┌ scope: queued ──▶ listing ──▶ watching … ┐ ──Items──▶ uplink::flow
//!     ▲                                               └ scope: resuming ──▶ watching …           ┘
//!     └──────── a CRD changed, or the interval has passed
//! ```
//!
//! [`run`] starts an engine for every account that the uplink reports as attached, until its attachment ends.

mod budget;
mod declare;
mod engines;
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
use spindrift_model::{DeniedScope, ResumePoint, Scope, ScopeId, ScrubRevision};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
    supervisor::{Panicked, Supervisor, TaskEvent},
};
use tokio::{sync::Notify, time::sleep};
use tracing::{debug, error, info, warn};

pub(crate) use budget::OPEN_LISTS;
pub use budget::{AccountBudget, Budgets, Limits};
pub use engines::run;
pub use permissions::KnownPermissions;

use filter::ObjectFilter;
use quota::Quotas;
use scope::{ScopePlan, ScopeWatch};
use selection::SelectedScope;

use crate::{
    accounts::Account,
    metrics::Metrics,
    status::{AgentStatus, WatchState},
    uplink::{FlowControl, WantedObjects},
};

/// Interval of discovery. The watch of CRDs triggers it at once; other changes of the served kinds (an aggregated API, an
/// upgrade) are found by the interval.
const REDISCOVERY: Duration = Duration::from_mins(1);

/// Pause after a change of a CRD, so that a burst of them causes one discovery.
const SETTLE: Duration = Duration::from_millis(200);

/// Further discoveries after a change of a CRD: its kind is served some time after its last event, which no event
/// announces.
const RECHECKS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15)];

/// Backoff of failed discoveries.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(500),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(30),
};

/// Timeouts of the watches of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchTimeouts {
    /// Time without any event after which a watch counts as frozen: bookmarks are due every minute.
    pub silence: Duration,
    /// Interval at which a forbidden scope is checked again.
    pub denied_retry: Duration,
}

/// Context that all scopes of an account share.
#[derive(Debug)]
pub(crate) struct EngineContext {
    pub(crate) account: Arc<Account>,
    pub(crate) status: AgentStatus,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) flow: FlowControl,
    /// Notified when the kinds that the API server serves may have changed.
    pub(crate) rediscover: Notify,
    /// Notified when a scope became forbidden or allowed.
    pub(crate) redeclare: Notify,
}

/// Watches of one attachment.
struct Engine {
    context: Arc<EngineContext>,
    wanted: WantedObjects,
    resume_points: HashMap<Scope, ResumePoint>,
    running: BTreeMap<Scope, RunningScope>,
    tasks: Supervisor<Scope, Infallible>,
    quotas: Quotas,
    next_id: u32,
    /// Number of [`RECHECKS`] done since the last change of a CRD.
    rechecked: usize,
    /// Set once the scopes were declared to the hub.
    declared: bool,
    /// API groups of the last declaration that could not be discovered, and whose objects the hub keeps.
    undiscovered: Vec<Arc<str>>,
    /// Forbidden scopes of the last declaration.
    denied: Vec<DeniedScope>,
}

/// Parameters of an engine.
struct EngineOptions {
    account: Arc<Account>,
    wanted: WantedObjects,
    resume_points: Vec<ResumePoint>,
    flow: FlowControl,
}

/// A scope with a task.
struct RunningScope {
    id: ScopeId,
    selected: SelectedScope,
    scrub_revision: ScrubRevision,
}

// === impl Engine ===

impl Engine {
    fn new(attached: EngineOptions, status: AgentStatus, metrics: Arc<Metrics>) -> Self {
        let EngineOptions { account, mut wanted, resume_points, flow } = attached;
        // What the account leaves out stays out, whatever the hub wants.
        wanted.only_managed |= account.config.only_spinnaker_managed == Some(true);
        let (rediscover, redeclare) = (Notify::new(), Notify::new());
        let context = EngineContext { account, status, metrics, flow, rediscover, redeclare };
        Self {
            context: Arc::new(context),
            wanted,
            resume_points: resume_points.into_iter().map(|point| (point.scope.clone(), point)).collect(),
            running: BTreeMap::new(),
            tasks: Supervisor::new(),
            quotas: Quotas::default(),
            next_id: 0,
            rechecked: RECHECKS.len(),
            declared: false,
            undiscovered: Vec::new(),
            denied: Vec::new(),
        }
    }

    /// Keeps the selected scopes running until it is dropped.
    async fn run(mut self) {
        self.context.account.budget.start().await;
        let mut backoff = Backoff::new(RETRY);
        loop {
            let account = &self.context.account.description.name;
            self.context.metrics.kubernetes_requests.inc_by(2);
            match self.context.account.api.discover().await {
                Ok(discovery) => {
                    backoff.reset();
                    for group in &discovery.undiscovered_groups {
                        self.context
                            .status
                            .problem(account, format!("API group {group} cannot be discovered"));
                    }
                    self.reconcile(&discovery).await;
                    self.until_rediscovery().await;
                }
                Err(error) => {
                    let wait = backoff.next();
                    warn!(%account, error = %report(&error), retry_in = ?wait, "discovery failed");
                    self.context.status.problem(account, format!("discovery failed: {}", report(&error)));
                    sleep(wait).await;
                }
            }
        }
    }

    /// Waits until the next discovery is due; meanwhile declares changed permissions and restarts watches.
    async fn until_rediscovery(&mut self) {
        let pause = RECHECKS.get(self.rechecked).copied().unwrap_or(REDISCOVERY);
        let mut due = std::pin::pin!(sleep(pause));
        let context = self.context.clone();
        loop {
            tokio::select! {
                () = context.rediscover.notified() => {
                    self.rechecked = 0;
                    return sleep(SETTLE).await;
                }
                () = context.redeclare.notified() => self.redeclare().await,
                event = self.tasks.next() => match event {
                    TaskEvent::Panicked(panicked) => self.panicked(panicked),
                    TaskEvent::RestartDue(scope) => self.restart(scope).await,
                    TaskEvent::Ended(_, never) => match never {},
                },
                () = &mut due => {
                    self.rechecked = self.rechecked.saturating_add(1);
                    return;
                }
            }
        }
    }

    /// Stops scopes that are no longer served or have changed, declares all others, and starts those that are new.
    async fn reconcile(&mut self, discovery: &Discovery) {
        let account = self.context.account.clone();
        account.redactions.add_short_names(discovery);
        let undiscovered: Vec<Arc<str>> =
            discovery.undiscovered_groups.iter().map(|group| group.as_str().into()).collect();
        let selected = selection::scopes(&account.config, &self.wanted.kinds, discovery);
        let outdated = self.outdated(&selected, &undiscovered);
        let is_first = !std::mem::replace(&mut self.declared, true);
        let all_running = selected.keys().all(|scope| self.running.contains_key(scope));
        if !is_first && outdated.is_empty() && all_running && self.undiscovered == undiscovered {
            return;
        }
        self.undiscovered = undiscovered;
        self.stop(&outdated).await;

        let kinds: BTreeSet<_> =
            selected.values().map(|selected| selected.resource.kind_and_group()).collect();
        let kinds: Vec<_> = kinds.into_iter().collect();
        let new: Vec<_> =
            selected.into_iter().filter(|(scope, _)| !self.running.contains_key(scope)).collect();
        if account.config.check_permissions_on_startup {
            let read = new.iter().filter(|(_, selected)| selected.read);
            let read = read.map(|(scope, selected)| (scope.clone(), selected.resource.clone())).collect();
            account.permissions.review(&account.api, read).await;
        }
        let plans: Vec<_> = new.into_iter().map(|(scope, selected)| self.plan(scope, selected)).collect();
        info!(
            account = %account.description.name, scopes = self.running.len() + plans.len(),
            stopped = outdated.len(), started = plans.len(),
            "Using kind list: [{}]", kinds.join(", ")
        );
        if is_first {
            self.log_discovery(kinds.len());
            self.warn_of_unknown_kinds(discovery);
        }
        self.context.status.caching(&account.description.name, kinds);
        self.declare(&plans).await;
        for plan in plans {
            self.start(plan);
        }
        // The hub has dropped all scopes that were not declared: should one come back, it has to be listed.
        self.resume_points.retain(|scope, _| self.undiscovered.contains(&scope.group));
    }

    /// Returns the running scopes that are no longer selected, or that are now watched in another way.
    fn outdated(&self, selected: &BTreeMap<Scope, SelectedScope>, undiscovered: &[Arc<str>]) -> Vec<Scope> {
        let is_outdated = |scope: &Scope, running: &RunningScope| match selected.get(scope) {
            Some(selected) => {
                *selected != running.selected || self.target(scope, selected).2 != running.scrub_revision
            }
            // A group that cannot be discovered may be back at once; its watches find out for themselves.
            None => !undiscovered.contains(&scope.group),
        };
        let outdated = self.running.iter().filter(|(scope, running)| is_outdated(scope, running));
        outdated.map(|(scope, _)| scope.clone()).collect()
    }

    fn plan(&mut self, scope: Scope, selected: SelectedScope) -> ScopePlan {
        self.next_id += 1;
        let (target, filter, scrub_revision) = self.target(&scope, &selected);
        let quota = self.quotas.of(&selected);
        // Only a list decides which objects are within the quota, and which were sent because Spinnaker deployed them.
        let can_resume = quota.is_none() && !filter.is_only_managed();
        let resume = self.resume_points.remove(&scope).filter(|_| can_resume);
        ScopePlan {
            id: ScopeId(self.next_id),
            scope,
            selected,
            target,
            filter,
            quota,
            scrub_revision,
            resume,
        }
    }

    /// Returns the target of a scope's watch, the filter of its objects, and the revision of all rules for them.
    fn target(&self, scope: &Scope, selected: &SelectedScope) -> (WatchTarget, ObjectFilter, ScrubRevision) {
        let account = &self.context.account;
        let target = account.target(selected.resource.clone(), scope.namespace.clone());
        let filter = ObjectFilter::new(&account.config, &selected.resource, self.wanted.only_managed);
        let scrub_revision = quota::revise(filter.revise(target.scrub_revision()), selected.limit);
        (target, filter, scrub_revision)
    }

    fn start(&mut self, plan: ScopePlan) {
        let (id, scope, selected) = (plan.id, plan.scope.clone(), plan.selected.clone());
        let scrub_revision = plan.scrub_revision;
        self.tasks.start(scope.clone(), ScopeWatch::new(self.context.clone(), plan).run());
        self.running.insert(scope, RunningScope { id, selected, scrub_revision });
    }

    /// Reports a watch that panicked, which is a bug. All other watches of the account continue.
    fn panicked(&self, Panicked { key: scope, message, pause }: Panicked<Scope>) {
        let EngineContext { account, status, .. } = &*self.context;
        let account = &account.description.name;
        error!(%account,
            kind = &*scope.kind, group = &*scope.group, watchedNamespace = scope.watched_namespace(),
            error = message, retry_in = ?pause, "watch panicked; restarting");
        status.problem(account, format!("the watch of {scope} panicked and is restarted: {message}"));
        status.watch(account, &scope, WatchState::Waiting, Some(message));
    }

    /// Restarts the watch of a scope under another id: items of the one that panicked do not count any more.
    async fn restart(&mut self, scope: Scope) {
        let Some(RunningScope { selected, .. }) = self.running.remove(&scope) else { return };
        let plan = self.plan(scope, selected);
        self.declare(std::slice::from_ref(&plan)).await;
        self.start(plan);
    }

    /// Stops watches and waits for their end: none of their items may follow the declaration that leaves them out.
    async fn stop(&mut self, scopes: &[Scope]) {
        for scope in scopes {
            if self.running.remove(scope).is_some() {
                self.tasks.stop(scope).await;
                debug!(account = %self.context.account.description.name,
                    kind = &*scope.kind, group = &*scope.group, watchedNamespace = scope.watched_namespace(),
                    "watch ended");
                self.quotas.leave(scope);
                self.context.account.permissions.remove(scope);
                self.context.status.unwatched(&self.context.account.description.name, scope);
            }
        }
    }
}

/// Returns a hash (FNV-1a) that is the same at every start and on every machine, unlike the standard library's.
fn stable_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests;
