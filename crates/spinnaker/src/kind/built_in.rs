//! Built-in kinds and their properties.

use super::{
    DeployPriority,
    SpinnakerKind::{
        self, Configs, Instances, LoadBalancers, SecurityGroups, ServerGroupManagers, ServerGroups,
        Unclassified,
    },
};

#[derive(Clone, Copy)]
pub(super) struct BuiltIn {
    /// Spinnaker's spelling.
    pub(super) name: &'static str,
    pub(super) alias: &'static str,
    pub(super) group: &'static str,
    pub(super) manifest_kind: &'static str,
    pub(super) spinnaker_kind: SpinnakerKind,
    pub(super) versioned: bool,
    pub(super) namespaced: bool,
    pub(super) priority: DeployPriority,
    /// Set if Spinnaker has rules for it; the others only have a spelling.
    pub(super) handled: bool,
}

/// Groups that are not part of a kind's name.
pub(super) const NATIVE_GROUPS: [&str; 18] = [
    "",
    "core",
    "batch",
    "apps",
    "extensions",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "autoscaling",
    "admissionregistration.k8s.io",
    "policy",
    "scheduling.k8s.io",
    "settings.k8s.io",
    "authorization.k8s.io",
    "authentication.k8s.io",
    "rbac.authorization.k8s.io",
    "certificates.k8s.io",
    "networking.k8s.io",
];

const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const REVISIONS: &str = "Controller revisions cannot be deployed.";
const EVENTS: &str = "Events cannot be deployed.";

#[rustfmt::skip]
pub(super) const BUILT_IN: [BuiltIn; 35] = [
    cluster("apiService", "", "apiregistration.k8s.io", "APIService", 80),
    cluster("clusterRole", "", RBAC, "ClusterRole", 20),
    cluster("clusterRoleBinding", "", RBAC, "ClusterRoleBinding", 30),
    versioned(namespaced("configMap", "cm", "", "ConfigMap", Configs, 50)),
    never_deployed(REVISIONS, namespaced("controllerRevision", "", "apps", "ControllerRevision", Unclassified, 0)),
    namespaced("cronJob", "", "batch", "CronJob", ServerGroups, 100),
    only_spelled(cluster("csiDriver", "", STORAGE, "CSIDriver", 1000)),
    only_spelled(cluster("csiNode", "", STORAGE, "CSINode", 1000)),
    cluster("customResourceDefinition", "crd", "apiextensions.k8s.io", "CustomResourceDefinition", 30),
    namespaced("daemonSet", "ds", "apps", "DaemonSet", ServerGroups, 100),
    namespaced("deployment", "deploy", "apps", "Deployment", ServerGroupManagers, 100),
    never_deployed(EVENTS, namespaced("event", "", "", "Event", Unclassified, 0)),
    namespaced("horizontalpodautoscaler", "hpa", "autoscaling", "HorizontalPodAutoscaler", Unclassified, 110),
    namespaced("ingress", "", NETWORKING, "Ingress", LoadBalancers, 70),
    namespaced("job", "", "batch", "Job", ServerGroups, 100),
    namespaced("limitRange", "", "", "LimitRange", Unclassified, 90),
    cluster("mutatingWebhookConfiguration", "", ADMISSION, "MutatingWebhookConfiguration", 40),
    cluster("namespace", "ns", "", "Namespace", 0),
    namespaced("networkPolicy", "netpol", NETWORKING, "NetworkPolicy", SecurityGroups, 70),
    configs(cluster("persistentVolume", "pv", "", "PersistentVolume", 40)),
    namespaced("persistentVolumeClaim", "pvc", "", "PersistentVolumeClaim", Configs, 50),
    versioned(namespaced("pod", "po", "", "Pod", Instances, 100)),
    namespaced("podDisruptionBudget", "", "policy", "PodDisruptionBudget", Unclassified, 90),
    namespaced("podPreset", "", "settings.k8s.io", "PodPreset", Unclassified, 90),
    cluster("podSecurityPolicy", "", "policy", "PodSecurityPolicy", 90),
    versioned(namespaced("replicaSet", "rs", "apps", "ReplicaSet", ServerGroups, 100)),
    namespaced("role", "", RBAC, "Role", Unclassified, 20),
    namespaced("roleBinding", "", RBAC, "RoleBinding", Unclassified, 30),
    versioned(namespaced("secret", "", "", "Secret", Configs, 50)),
    namespaced("service", "svc", "", "Service", LoadBalancers, 70),
    namespaced("serviceAccount", "sa", "", "ServiceAccount", Unclassified, 40),
    namespaced("statefulSet", "", "apps", "StatefulSet", ServerGroups, 100),
    cluster("storageClass", "sc", STORAGE, "StorageClass", 40),
    cluster("validatingWebhookConfiguration", "", ADMISSION, "ValidatingWebhookConfiguration", 40),
    only_spelled(cluster("none", "", "", "none", 1000)),
];

const fn namespaced(
    name: &'static str,
    alias: &'static str,
    group: &'static str,
    manifest_kind: &'static str,
    spinnaker_kind: SpinnakerKind,
    priority: i32,
) -> BuiltIn {
    BuiltIn {
        name,
        alias,
        group,
        manifest_kind,
        spinnaker_kind,
        versioned: false,
        namespaced: true,
        priority: DeployPriority::At(priority),
        handled: true,
    }
}

const fn cluster(
    name: &'static str,
    alias: &'static str,
    group: &'static str,
    manifest_kind: &'static str,
    priority: i32,
) -> BuiltIn {
    BuiltIn {
        namespaced: false,
        ..namespaced(name, alias, group, manifest_kind, SpinnakerKind::Unclassified, priority)
    }
}

const fn configs(kind: BuiltIn) -> BuiltIn {
    BuiltIn { spinnaker_kind: Configs, ..kind }
}

const fn versioned(kind: BuiltIn) -> BuiltIn {
    BuiltIn { versioned: true, ..kind }
}

const fn only_spelled(kind: BuiltIn) -> BuiltIn {
    BuiltIn { handled: false, ..kind }
}

const fn never_deployed(why: &'static str, kind: BuiltIn) -> BuiltIn {
    BuiltIn { priority: DeployPriority::Never(why), ..kind }
}

// === impl BuiltIn ===

impl BuiltIn {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || (!self.alias.is_empty() && self.alias.eq_ignore_ascii_case(name))
    }
}
