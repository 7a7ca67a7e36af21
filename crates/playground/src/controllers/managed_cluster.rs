//! One cluster with its controllers: which objects a change affects, and how they are reconciled.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    budget, cron_job, daemon_set, deployment, endpoints,
    events::EventRecorder,
    fields::{self, matches, name, namespace, uid},
    job, namespace as namespaces,
    pod::{self, Trigger},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, Timing},
    replica_set, stateful_set,
};
use crate::cluster::{ChangeNotice, Cluster, DeleteOptions, Key};

/// A cluster and the state of its controllers.
pub(crate) struct ManagedCluster {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) timing: Timing,
    rng: fastrand::Rng,
    recorder: EventRecorder,
}

/// An object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WorkItem {
    pub(crate) kind: Kind,
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
}

/// A work item that a change requires; `Soon` is delayed so that several changes are reconciled once.
#[derive(Debug)]
pub(crate) enum Requeue {
    Now(WorkItem),
    Soon(WorkItem),
}

/// Fields of an object that determine which controllers it affects.
#[derive(Debug, Deserialize)]
struct ObjectHead {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    labels: Value,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    api_version: String,
    kind: String,
    name: String,
    #[serde(default)]
    controller: bool,
}

/// Kinds that are reconciled for a new cluster, and after a lagged subscription.
const ROOTS: [Kind; 10] = [
    Kind::Namespace,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::Job,
    Kind::CronJob,
    Kind::Pod,
    Kind::PodDisruptionBudget,
    Kind::Service,
];

/// Default of the kubelet.
const PODS_PER_NODE: usize = 110;

/// Limit per reconciliation, after which other objects get the thread; the new pods trigger the next one.
const PODS_PER_RECONCILIATION: usize = 500;

// === impl ManagedCluster ===

impl ManagedCluster {
    pub(crate) fn new(cluster: Arc<Cluster>, timing: Timing, seed: u64, events: usize) -> Self {
        Self { cluster, timing, rng: fastrand::Rng::with_seed(seed), recorder: EventRecorder::new(events) }
    }

    /// All objects to reconcile.
    pub(crate) fn everything(&self) -> Vec<WorkItem> {
        let all = ROOTS.into_iter().flat_map(|kind| {
            let objects = self.list(kind, None);
            objects.into_iter().map(move |object| WorkItem::new(kind, namespace(&object), name(&object)))
        });
        all.collect()
    }

    /// Work items that a change requires.
    pub(crate) fn requeues(&self, notice: &ChangeNotice) -> Vec<Requeue> {
        let ChangeNotice { key, object, .. } = notice;
        let Some(kind) = Kind::of_plural(&key.group, &key.plural) else { return Vec::new() };
        let mut requeues = Vec::new();
        if ROOTS.contains(&kind) {
            requeues.push(Requeue::Now(WorkItem::new(kind, &key.namespace, &key.name)));
        }
        if kind == Kind::Node {
            let sets = self.list(Kind::DaemonSet, None);
            let work = |set: &Value| WorkItem::new(Kind::DaemonSet, namespace(set), name(set));
            requeues.extend(sets.iter().map(work).map(Requeue::Now));
            let pods = self.list(Kind::Pod, None);
            let unbound = pods.iter().filter(|pod| fields::text(pod, "/spec/nodeName").is_empty());
            let work = |pod: &Value| WorkItem::new(Kind::Pod, namespace(pod), name(pod));
            requeues.extend(unbound.map(work).map(Requeue::Now));
        }
        if !matches!(kind, Kind::Pod | Kind::ReplicaSet | Kind::Job) {
            return requeues;
        }
        let Ok(ObjectHead { metadata }) = serde_json::from_slice::<ObjectHead>(object) else {
            return requeues;
        };
        for owner in metadata.owner_references.iter().filter(|owner| owner.controller) {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            if let Some(kind) = Kind::of(group, &owner.kind) {
                requeues.push(Requeue::Now(WorkItem::new(kind, &key.namespace, &owner.name)));
            }
        }
        if kind == Kind::Pod {
            for found in self.list(Kind::PodDisruptionBudget, Some(&key.namespace)) {
                if budget::covers(&found, &metadata.labels) {
                    let work = WorkItem::new(Kind::PodDisruptionBudget, &key.namespace, name(&found));
                    requeues.push(Requeue::Soon(work));
                }
            }
            for service in self.list(Kind::Service, Some(&key.namespace)) {
                if matches(&service["spec"]["selector"], &metadata.labels) {
                    requeues.push(Requeue::Soon(WorkItem::new(
                        Kind::Service,
                        &key.namespace,
                        name(&service),
                    )));
                }
            }
        }
        requeues
    }

    /// Reconciles an object; returns the delay after which to reconcile it again.
    pub(crate) fn perform(&mut self, work: &WorkItem, cause: Trigger) -> Option<std::time::Duration> {
        let object = self.cluster.get(&work.key())?;
        let mut rng = self.rng.fork();
        let mut context = ReconcileContext {
            now: Timestamp::now(),
            timing: self.timing,
            rng: &mut rng,
            pod_budget: self.pod_budget(work.kind),
        };
        let plan = self.decide(work, &object, cause, &mut context);
        let now = context.now;
        for write in plan.writes {
            self.write(write, now);
        }
        plan.again
    }

    /// Number of pods that an object of this kind may create in one reconciliation.
    fn pod_budget(&self, kind: Kind) -> usize {
        if !matches!(kind, Kind::ReplicaSet | Kind::StatefulSet | Kind::Job) {
            return 0;
        }
        // In a cluster without nodes, pods can still be created and wait for one.
        let nodes = self.cluster.count("", "nodes").max(1);
        (nodes * PODS_PER_NODE).saturating_sub(self.cluster.count("", "pods")).min(PODS_PER_RECONCILIATION)
    }

    fn decide(
        &self,
        work: &WorkItem,
        object: &Value,
        cause: Trigger,
        context: &mut ReconcileContext<'_>,
    ) -> Plan {
        let of = |kind: Kind| self.dependents(object, kind);
        match work.kind {
            Kind::Deployment => deployment::decide(object, &of(Kind::ReplicaSet), context),
            Kind::ReplicaSet => replica_set::decide(object, &of(Kind::Pod), context),
            Kind::StatefulSet => stateful_set::decide(object, &of(Kind::Pod), context),
            Kind::DaemonSet => {
                daemon_set::decide(object, &self.list(Kind::Node, None), &of(Kind::Pod), context)
            }
            Kind::Job => job::decide(object, &of(Kind::Pod), context),
            Kind::CronJob => cron_job::decide(object, &of(Kind::Job), context),
            Kind::Pod => {
                let bound = !fields::text(object, "/spec/nodeName").is_empty();
                let nodes = if bound { Vec::new() } else { self.list(Kind::Node, None) };
                pod::decide(object, &nodes, cause, context)
            }
            Kind::PodDisruptionBudget => {
                budget::decide(object, &self.list(Kind::Pod, Some(&work.namespace)), context)
            }
            Kind::Service => {
                let get = |kind: Kind, named: &str| {
                    self.cluster.get(&WorkItem::new(kind, &work.namespace, named).key())
                };
                let (known, slice) = (
                    get(Kind::Endpoints, &work.name),
                    get(Kind::EndpointSlice, &endpoints::slice_name(object)),
                );
                let pods = self.list(Kind::Pod, Some(&work.namespace));
                endpoints::decide(object, &pods, known.as_ref(), slice.as_ref())
            }
            Kind::Namespace => {
                let has = |kind: Kind, named: &str| {
                    self.cluster.get(&WorkItem::new(kind, &work.name, named).key()).is_some()
                };
                namespaces::decide(
                    object,
                    has(Kind::ServiceAccount, "default"),
                    has(Kind::ConfigMap, "kube-root-ca.crt"),
                )
            }
            _ => Plan::default(),
        }
    }

    fn list(&self, kind: Kind, namespace: Option<&str>) -> Vec<Value> {
        let (group, _, _, plural) = kind.names();
        self.cluster.list(group, plural, namespace)
    }

    /// Objects of a kind that this object controls.
    fn dependents(&self, owner: &Value, kind: Kind) -> Vec<Value> {
        let (group, _, _, plural) = kind.names();
        let found = self.cluster.dependents(uid(owner), group, plural);
        found
            .into_iter()
            .filter(|object| {
                fields::controller(object).is_some_and(|found| fields::text(found, "/uid") == uid(owner))
            })
            .collect()
    }

    fn write(&mut self, write: ObjectWrite, now: Timestamp) {
        let refused = match write {
            ObjectWrite::Event(event) => {
                self.recorder.record(&self.cluster, &event, now, &mut self.rng);
                return;
            }
            ObjectWrite::Create(_, object) => self.cluster.create(object).err(),
            ObjectWrite::Update(kind, object) => {
                let key = WorkItem::new(kind, namespace(&object), name(&object)).key();
                self.cluster.update(&key, |current| overwrite(current, object)).err()
            }
            ObjectWrite::Status(kind, mut object) => {
                let key = WorkItem::new(kind, namespace(&object), name(&object)).key();
                let change = |current: &mut Value| {
                    if version(current) == version(&object) {
                        fields::set(current, &["status"], object["status"].take());
                    }
                };
                self.cluster.update(&key, change).err()
            }
            ObjectWrite::Delete { kind, namespace, name } => {
                self.cluster.delete(&WorkItem::new(kind, &namespace, &name).key()).err()
            }
            ObjectWrite::Remove { kind, namespace, name } => {
                let key = WorkItem::new(kind, &namespace, &name).key();
                self.cluster.delete_with(&key, &DeleteOptions::now()).err()
            }
        };
        // A conflict, or a terminating namespace: the next change triggers another reconciliation.
        if let Some(refused) = refused.filter(|refused| !matches!(refused.code, 403 | 404 | 409)) {
            tracing::warn!(
                cluster = self.cluster.name(),
                message = refused.message,
                "a controller's write is refused"
            );
        }
    }
}

/// Replaces an object if it still has the resource version that was read.
fn overwrite(current: &mut Value, object: Value) {
    if version(current) == version(&object) {
        *current = object;
    }
}

fn version(object: &Value) -> &str {
    fields::text(object, "/metadata/resourceVersion")
}

// === impl WorkItem ===

impl WorkItem {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    pub(crate) fn key(&self) -> Key {
        let (group, _, _, plural) = self.kind.names();
        Key::new(group, plural, &self.namespace, &self.name)
    }
}
