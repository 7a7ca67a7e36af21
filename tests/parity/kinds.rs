//! The kinds that are tried, and manifests of them.

pub(crate) mod custom;
mod data;
mod network;
mod pod;
mod workload;

use serde_json::{Value, json};

use crate::decisions::{Decisions, prune};

/// A kind and how its manifests are made up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) scope: Scope,
    /// All of a manifest but its metadata.
    body: fn(&Decisions) -> Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespaced,
    Cluster,
}

/// Stands in a manifest for the namespace, which is another one on each side.
pub(crate) const NAMESPACE: &str = "NAMESPACE";
/// Stands in a manifest for the side, in names that would else be the same for both.
pub(crate) const SIDE: &str = "SIDE";

const fn kind(
    name: &'static str,
    api_version: &'static str,
    plural: &'static str,
    body: fn(&Decisions) -> Value,
) -> Kind {
    Kind { name, api_version, plural, scope: Scope::Namespaced, body }
}

const fn cluster_wide(kind: Kind) -> Kind {
    Kind { scope: Scope::Cluster, ..kind }
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const CUSTOM: &str = "parity.example.com/v1";

pub(crate) static KINDS: [Kind; 19] = [
    kind("Deployment", "apps/v1", "deployments", workload::deployment),
    kind("StatefulSet", "apps/v1", "statefulsets", workload::stateful_set),
    kind("DaemonSet", "apps/v1", "daemonsets", workload::daemon_set),
    kind("Service", "v1", "services", network::service),
    kind("Ingress", "networking.k8s.io/v1", "ingresses", network::ingress),
    kind("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies", network::network_policy),
    kind("ConfigMap", "v1", "configmaps", data::config_map),
    kind("Secret", "v1", "secrets", data::secret),
    kind("ServiceAccount", "v1", "serviceaccounts", data::service_account),
    kind("Job", "batch/v1", "jobs", workload::job),
    kind("CronJob", "batch/v1", "cronjobs", workload::cron_job),
    kind("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", data::autoscaler),
    kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", data::disruption_budget),
    kind("Role", RBAC, "roles", data::role),
    kind("RoleBinding", RBAC, "rolebindings", data::role_binding),
    cluster_wide(kind("ClusterRole", RBAC, "clusterroles", data::cluster_role)),
    kind("Gadget", CUSTOM, "gadgets", custom::gadget),
    kind("Blob", CUSTOM, "blobs", custom::blob),
    cluster_wide(kind(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        custom::custom_definition,
    )),
];

impl Kind {
    pub(crate) fn of(name: &str) -> &'static Self {
        KINDS.iter().find(|kind| kind.name == name).unwrap()
    }

    /// The name of the object of a case, with [`SIDE`] in it where sides would else meet.
    pub(crate) fn object_name(&self, case: u64) -> String {
        match (self.name, self.scope) {
            ("CustomResourceDefinition", _) => format!("things{case}{SIDE}.{}", custom::GROUP),
            (_, Scope::Cluster) => format!("parity-{case}-{SIDE}"),
            (_, Scope::Namespaced) => format!("{}-{case}", self.plural),
        }
    }

    /// A manifest by these decisions.
    pub(crate) fn manifest(&self, case: u64, decisions: &Decisions) -> Value {
        let mut manifest = prune((self.body)(&decisions.within("body")));
        manifest["apiVersion"] = self.api_version.into();
        manifest["kind"] = self.name.into();
        manifest["metadata"] = self.metadata(case, &decisions.within("metadata"));
        // A workload that shares a selector with others adopts their pods.
        for app in ["/spec/selector/matchLabels/app", "/spec/template/metadata/labels/app"] {
            if let (Some(app), true) = (manifest.pointer_mut(app), self.api_version == "apps/v1") {
                *app = self.object_name(case).into();
            }
        }
        if self.name == "CustomResourceDefinition" {
            manifest["spec"]["group"] = custom::GROUP.into();
            manifest["spec"]["names"]["plural"] = format!("things{case}{SIDE}").into();
            manifest["spec"]["names"]["kind"] = format!("Thing{case}{SIDE}").into();
        }
        manifest
    }

    fn metadata(&self, case: u64, decisions: &Decisions) -> Value {
        const FINALIZERS: [&str; 3] = ["example.com/one", "example.com/two", "example.com/three"];
        let mut metadata = prune(json!({
            "name": self.object_name(case),
            "namespace": if self.scope == Scope::Namespaced { NAMESPACE.into() } else { Value::Null },
            "labels": decisions.map("labels", 0, &["app", "tier", "track"], &["web", "", "back"]),
            "annotations": decisions.map("annotations", 0, &["example.com/note", "note"], &["a <b> & c", "", "{\"x\": 1}"]),
            "finalizers": decisions.maybe("finalizers", 40, |decisions| json!(decisions.some("names", 0, &FINALIZERS))),
            "ownerReferences": decisions.maybe("owners", 15, |decisions| decisions.items("uid", 1, &["u-1", "u-2"], |uid, decisions| json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": decisions.one("name", &["a", "b"]), "uid": uid,
            }))),
        }));
        // As programs write manifests that have types.
        if decisions.chance("creationTimestamp", 10) {
            metadata["creationTimestamp"] = Value::Null;
        }
        metadata
    }

    /// Where the API server has the object.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let Self { api_version, plural, .. } = self;
        let root = if api_version.contains('/') { "apis" } else { "api" };
        match self.scope {
            Scope::Namespaced => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}/{name}"),
            Scope::Cluster => format!("/{root}/{api_version}/{plural}/{name}"),
        }
    }

    /// As kubectl takes it: `deployments.v1.apps`.
    pub(crate) fn argument(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, version)) => format!("{}.{version}.{group}", self.plural),
            None => self.plural.to_owned(),
        }
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.api_version == CUSTOM
    }
}
