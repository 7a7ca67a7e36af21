//! One reconciliation: its inputs besides the objects, and the resulting writes.

use std::{fmt::Write as _, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields;

/// Kinds that controllers read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    CronJob,
    DaemonSet,
    Deployment,
    EndpointSlice,
    Endpoints,
    Event,
    Job,
    Namespace,
    Node,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    Service,
    ServiceAccount,
    StatefulSet,
}

/// Durations of simulated steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// From a pod's binding to the start of its containers, on average.
    pub start: Duration,
    /// From a container's start until its readiness probe succeeds, if it has one.
    pub ready: Duration,
    /// From a pod's deletion until its removal, on average.
    pub stop: Duration,
    /// Run time of a job's pod, on average, unless its command sleeps for a given time.
    pub job: Duration,
    /// Delay before a crashed container restarts for the first time; it doubles with each crash.
    pub back_off: Duration,
}

/// Inputs of a reconciliation besides the objects.
#[derive(Debug)]
pub(crate) struct ReconcileContext<'a> {
    pub(crate) now: Timestamp,
    pub(crate) timing: Timing,
    pub(crate) rng: &'a mut fastrand::Rng,
    /// Number of pods that this reconciliation may still create.
    pub(crate) pod_budget: usize,
}

/// Result of a reconciliation.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) writes: Vec<ObjectWrite>,
    /// Delay after which to reconcile again even if nothing changes.
    pub(crate) again: Option<Duration>,
}

/// One write to the cluster. Updates require that the object still has the resource version that was read.
#[derive(Debug, PartialEq)]
pub(crate) enum ObjectWrite {
    Create(Kind, Value),
    Update(Kind, Value),
    Status(Kind, Value),
    Delete {
        kind: Kind,
        namespace: String,
        name: String,
    },
    /// Deletes without grace period, as a kubelet does when the containers have stopped.
    Remove {
        kind: Kind,
        namespace: String,
        name: String,
    },
    Event(RecordedEvent),
}

/// An Event object to record.
#[derive(Debug, PartialEq)]
pub(crate) struct RecordedEvent {
    pub(crate) about: Value,
    pub(crate) kind: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) source: &'static str,
}

/// Characters of generated names; without vowels, so that no words appear, as in the API server and its controllers.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Delay before retrying pods that did not fit on the nodes.
const FULL: Duration = Duration::from_secs(5);

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Self; 17] = [
        Self::ConfigMap,
        Self::CronJob,
        Self::DaemonSet,
        Self::Deployment,
        Self::EndpointSlice,
        Self::Endpoints,
        Self::Event,
        Self::Job,
        Self::Namespace,
        Self::Node,
        Self::PersistentVolumeClaim,
        Self::Pod,
        Self::PodDisruptionBudget,
        Self::ReplicaSet,
        Self::Service,
        Self::ServiceAccount,
        Self::StatefulSet,
    ];

    /// Group, version, kind and plural.
    pub(crate) const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::CronJob => ("batch", "v1", "CronJob", "cronjobs"),
            Self::DaemonSet => ("apps", "v1", "DaemonSet", "daemonsets"),
            Self::Deployment => ("apps", "v1", "Deployment", "deployments"),
            Self::EndpointSlice => ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
            Self::Endpoints => ("", "v1", "Endpoints", "endpoints"),
            Self::Event => ("", "v1", "Event", "events"),
            Self::Job => ("batch", "v1", "Job", "jobs"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
            Self::Node => ("", "v1", "Node", "nodes"),
            Self::PersistentVolumeClaim => ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::PodDisruptionBudget => ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
            Self::ReplicaSet => ("apps", "v1", "ReplicaSet", "replicasets"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::StatefulSet => ("apps", "v1", "StatefulSet", "statefulsets"),
        }
    }

    pub(crate) fn of(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| (known.names().0, known.names().2) == (group, kind))
    }

    pub(crate) fn of_plural(group: &str, plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| (known.names().0, known.names().3) == (group, plural))
    }

    pub(crate) fn api_version(self) -> String {
        match self.names() {
            ("", version, ..) => version.to_owned(),
            (group, version, ..) => format!("{group}/{version}"),
        }
    }
}

// === impl Timing ===

impl Timing {
    /// About as in a small real cluster.
    pub const REAL: Self = Self {
        start: Duration::from_millis(1200),
        ready: Duration::from_millis(1500),
        stop: Duration::from_millis(1500),
        job: Duration::from_secs(8),
        back_off: Duration::from_secs(5),
    };

    /// As fast as possible, for tests.
    pub const FAST: Self = Self {
        start: Duration::from_millis(5),
        ready: Duration::from_millis(5),
        stop: Duration::from_millis(5),
        job: Duration::from_millis(20),
        back_off: Duration::from_millis(20),
    };
}

// === impl ReconcileContext ===

impl ReconcileContext<'_> {
    pub(crate) fn stamp(&self) -> String {
        fields::stamp(self.now)
    }

    /// Random duration between 0.5 and 1.5 times the average.
    pub(crate) fn jittered(&mut self, average: Duration) -> Duration {
        average.mul_f64(0.5 + self.rng.f64())
    }

    /// Reserves as many of the missing pods as allowed; requests a requeue for the rest.
    pub(crate) fn claim(&mut self, missing: usize, plan: &mut Plan) -> usize {
        let granted = missing.min(self.pod_budget);
        self.pod_budget -= granted;
        if granted < missing {
            plan.later(FULL);
        }
        granted
    }

    /// Suffix of a generated name.
    pub(crate) fn suffix(&mut self) -> String {
        (0..5).map(|_| char::from(LETTERS[self.rng.usize(..LETTERS.len())])).collect()
    }
}

// === impl Plan ===

impl Plan {
    pub(crate) fn write(&mut self, write: ObjectWrite) {
        self.writes.push(write);
    }

    /// Writes the status if it differs.
    pub(crate) fn status(&mut self, kind: Kind, object: &Value, status: Value) {
        if object.get("status") != Some(&status) {
            let mut object = object.clone();
            fields::set(&mut object, &["status"], status);
            self.write(ObjectWrite::Status(kind, object));
        }
    }

    pub(crate) fn delete(&mut self, kind: Kind, object: &Value) {
        let (namespace, name) = (fields::namespace(object).to_owned(), fields::name(object).to_owned());
        self.write(ObjectWrite::Delete { kind, namespace, name });
    }

    pub(crate) fn record(
        &mut self,
        about: &Value,
        source: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        let kind = match reason {
            "BackOff"
            | "Failed"
            | "FailedScheduling"
            | "BackoffLimitExceeded"
            | "DeadlineExceeded"
            | "Unhealthy" => "Warning",
            _ => "Normal",
        };
        let about = reference(about);
        self.write(ObjectWrite::Event(RecordedEvent {
            about,
            kind,
            reason,
            message: message.into(),
            source,
        }));
    }

    /// Requeues after this delay, or earlier if that was requested too.
    pub(crate) fn later(&mut self, after: Duration) {
        self.again = Some(self.again.map_or(after, |earlier| earlier.min(after)));
    }
}

/// Object reference of an event.
fn reference(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "namespace": fields::namespace(object),
        "name": fields::name(object),
        "uid": fields::uid(object),
        "resourceVersion": fields::text(object, "/metadata/resourceVersion"),
    })
}

/// Owner reference from a dependent to its controller.
pub(crate) fn owner(kind: Kind, object: &Value) -> Value {
    json!([{
        "apiVersion": kind.api_version(),
        "kind": kind.names().2,
        "name": fields::name(object),
        "uid": fields::uid(object),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}

/// Hash of a template; equal templates have equal hashes.
pub(crate) fn template_hash(template: &Value) -> String {
    // FNV-1a with its digits as letters, as the Deployment controller writes its hashes.
    let hash = template
        .to_string()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut digits = String::new();
    // Writing to a string cannot fail.
    if write!(digits, "{hash}").is_err() {
        return digits;
    }
    digits.bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

/// Pod of a template, with its owner.
pub(crate) fn pod_of(template: &Value, namespace: &str, name: String, owner: Value) -> Value {
    let mut metadata = template.get("metadata").cloned().unwrap_or_else(|| json!({}));
    fields::set(&mut metadata, &["name"], name);
    fields::set(&mut metadata, &["namespace"], namespace);
    fields::set(&mut metadata, &["ownerReferences"], owner);
    if let Some(map) = metadata.as_object_mut() {
        map.remove("creationTimestamp");
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

/// A condition; `lastTransitionTime` is kept while the status stays.
pub(crate) fn condition(object: &Value, at: &str, kind: &str, status: bool, why: (&str, &str)) -> Value {
    let status = if status { "True" } else { "False" };
    let old = fields::condition(object, kind);
    let same = old.filter(|old| fields::text(old, "/status") == status);
    let since = same.map(|old| fields::text(old, "/lastTransitionTime")).filter(|since| !since.is_empty());
    json!({
        "type": kind,
        "status": status,
        "reason": why.0,
        "message": why.1,
        "lastTransitionTime": since.unwrap_or(at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind.names().0, kind.names().2), Some(kind));
        }
    }

    #[test]
    fn equal_templates_have_equal_hashes_and_others_do_not() {
        let (one, two) = (json!({ "spec": { "a": 1 } }), json!({ "spec": { "a": 2 } }));
        assert_eq!(template_hash(&one), template_hash(&one.clone()));
        assert_ne!(template_hash(&one), template_hash(&two));
    }
}
