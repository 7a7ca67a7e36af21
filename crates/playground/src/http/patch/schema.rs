//! Lists of built-in kinds as server-side apply merges them: by keys, as sets, or as a whole.
//!
//! A list is known by its field and by the field that its parent stands in; that is enough for all built-in kinds.

/// Merge behaviour of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// By the value of these fields of its items.
    Map(&'static [&'static str]),
    Set,
    Atomic,
}

/// The kind of the list under a field, whose parent is under another.
pub(crate) fn list_kind(parent: &str, field: &str) -> ListKind {
    match (parent, field) {
        (
            _,
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "imagePullSecrets"
            | "resourceClaims"
            | "schedulingGates"
            | "webhooks"
            | "secrets",
        ) => ListKind::Map(&["name"]),
        ("containers" | "initContainers" | "ephemeralContainers", "ports") => {
            ListKind::Map(&["containerPort", "protocol"])
        }
        ("spec", "ports") => ListKind::Map(&["port", "protocol"]),
        (_, "volumeMounts") => ListKind::Map(&["mountPath"]),
        (_, "volumeDevices") => ListKind::Map(&["devicePath"]),
        (_, "hostAliases" | "podIPs" | "hostIPs") => ListKind::Map(&["ip"]),
        (_, "topologySpreadConstraints") => ListKind::Map(&["topologyKey", "whenUnsatisfiable"]),
        (_, "conditions") | ("status", "addresses") => ListKind::Map(&["type"]),
        (_, "ownerReferences") => ListKind::Map(&["uid"]),
        (_, "finalizers" | "accessModes" | "loadBalancerSourceRanges" | "podCIDRs") => ListKind::Set,
        _ => ListKind::Atomic,
    }
}

/// Objects that are replaced as a whole.
pub(crate) fn is_atomic_object(field: &str) -> bool {
    matches!(
        field,
        "selector"
            | "podSelector"
            | "namespaceSelector"
            | "labelSelector"
            | "nodeSelector"
            | "configMapKeyRef"
            | "secretKeyRef"
            | "fieldRef"
            | "resourceFieldRef"
            | "roleRef"
            | "nodeSelectorTerms"
    )
}
