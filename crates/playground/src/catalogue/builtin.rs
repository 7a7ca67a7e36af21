//! Built-in kinds of every cluster, in discovery order.

use super::{Resource, Scope, Subresource, Verbs};

/// Group, version, kind, plural, scope, short names, categories, verbs, subresources.
type BuiltinRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Scope,
    &'static str,
    &'static str,
    Verbs,
    &'static str,
);

use Scope::{Cluster as C, Namespaced as N};
use Verbs::{All as ALL, Create as CREATE, WithoutCollection as NAMESPACES};

#[rustfmt::skip]
const ROWS: &[BuiltinRow] = &[
    ("", "v1", "ConfigMap", "configmaps", N, "cm", "", ALL, ""),
    ("", "v1", "Endpoints", "endpoints", N, "ep", "", ALL, ""),
    ("", "v1", "Event", "events", N, "ev", "", ALL, ""),
    ("", "v1", "LimitRange", "limitranges", N, "limits", "", ALL, ""),
    ("", "v1", "Namespace", "namespaces", C, "ns", "", NAMESPACES, "finalize status"),
    ("", "v1", "Node", "nodes", C, "no", "", ALL, "status"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", N, "pvc", "", ALL, "status"),
    ("", "v1", "PersistentVolume", "persistentvolumes", C, "pv", "", ALL, "status"),
    ("", "v1", "Pod", "pods", N, "po", "all", ALL, "binding eviction log status"),
    ("", "v1", "PodTemplate", "podtemplates", N, "", "", ALL, ""),
    ("", "v1", "ReplicationController", "replicationcontrollers", N, "rc", "all", ALL, "scale status"),
    ("", "v1", "ResourceQuota", "resourcequotas", N, "quota", "", ALL, "status"),
    ("", "v1", "Secret", "secrets", N, "", "", ALL, ""),
    ("", "v1", "ServiceAccount", "serviceaccounts", N, "sa", "", ALL, "token"),
    ("", "v1", "Service", "services", N, "svc", "all", ALL, "status"),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", C, "", "api-extensions", ALL, "status"),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", N, "", "", ALL, ""),
    ("apps", "v1", "DaemonSet", "daemonsets", N, "ds", "all", ALL, "status"),
    ("apps", "v1", "Deployment", "deployments", N, "deploy", "all", ALL, "scale status"),
    ("apps", "v1", "ReplicaSet", "replicasets", N, "rs", "all", ALL, "scale status"),
    ("apps", "v1", "StatefulSet", "statefulsets", N, "sts", "all", ALL, "scale status"),
    ("events.k8s.io", "v1", "Event", "events", N, "ev", "", ALL, ""),
    ("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", C, "", "", CREATE, ""),
    ("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", C, "", "", CREATE, ""),
    ("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", N, "", "", CREATE, ""),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", C, "", "", CREATE, ""),
    ("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", C, "", "", CREATE, ""),
    ("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", C, "", "", CREATE, ""),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", N, "hpa", "all", ALL, "status"),
    ("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", N, "hpa", "all", ALL, "status"),
    ("batch", "v1", "CronJob", "cronjobs", N, "cj", "all", ALL, "status"),
    ("batch", "v1", "Job", "jobs", N, "", "all", ALL, "status"),
    ("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", C, "csr", "", ALL, "status"),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", C, "", "", ALL, ""),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", N, "ing", "", ALL, "status"),
    ("networking.k8s.io", "v1", "IPAddress", "ipaddresses", C, "ip", "", ALL, ""),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", N, "netpol", "", ALL, ""),
    ("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", C, "", "", ALL, "status"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", N, "pdb", "", ALL, "status"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", C, "", "", ALL, ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", C, "", "", ALL, ""),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", N, "", "", ALL, ""),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", N, "", "", ALL, ""),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", C, "", "", ALL, ""),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", C, "", "", ALL, ""),
    ("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", N, "", "", ALL, ""),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", C, "sc", "", ALL, ""),
    ("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", C, "", "", ALL, "status"),
    ("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", C, "vac", "", ALL, ""),
    ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", C, "", "api-extensions", ALL, ""),
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", C, "", "api-extensions", ALL, ""),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", C, "crd crds", "api-extensions", ALL, "status"),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", C, "pc", "", ALL, ""),
    ("coordination.k8s.io", "v1", "Lease", "leases", N, "", "", ALL, ""),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", C, "", "", ALL, ""),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", N, "", "", ALL, ""),
];

/// Builds the built-in resources.
pub(super) fn resources() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

fn resource(row: &BuiltinRow) -> Resource {
    let &(group, version, kind, plural, scope, short_names, categories, verbs, subresources) = row;
    // events.k8s.io serves the events of the core group under another schema; both share one table.
    let storage_group = if group == "events.k8s.io" { "" } else { group };
    Resource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        plural: plural.into(),
        singular: kind.to_ascii_lowercase(),
        scope,
        short_names: words(short_names),
        categories: words(categories),
        verbs,
        subresources: words(subresources).iter().map(|name| subresource(name, kind)).collect(),
        table: super::table_id(group, plural),
        storage: super::table_id(storage_group, plural),
        custom: None,
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn subresource(name: &str, parent: &str) -> Subresource {
    let (group, version, kind, verbs): (_, _, _, &'static [&'static str]) = match name {
        "scale" => ("autoscaling", "v1", "Scale", &["get", "patch", "update"]),
        "log" => ("", "", "Pod", &["get"]),
        "binding" => ("", "", "Binding", &["create"]),
        "eviction" => ("policy", "v1", "Eviction", &["create"]),
        "token" => ("authentication.k8s.io", "v1", "TokenRequest", &["create"]),
        "finalize" => ("", "", parent, &["update"]),
        _ => ("", "", parent, &["get", "patch", "update"]),
    };
    Subresource { name: name.into(), group, version, kind: kind.into(), verbs }
}
