//! Lists of built-in kinds as server-side apply merges them: by keys, as sets, or as a whole.
//!
//! A list is known by its field and by the field that its parent stands in; that is enough for all built-in kinds.

/// Merge behaviour of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By the value of these fields of its items.
    Map(&'static [&'static str]),
    Set,
    Atomic,
}

/// The kind of the list under a field, whose parent is under another.
pub(crate) fn list_kind(parent: &str, field: &str) -> Kind {
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
        ) => Kind::Map(&["name"]),
        ("containers" | "initContainers" | "ephemeralContainers", "ports") => {
            Kind::Map(&["containerPort", "protocol"])
        }
        ("spec", "ports") => Kind::Map(&["port", "protocol"]),
        (_, "volumeMounts") => Kind::Map(&["mountPath"]),
        (_, "volumeDevices") => Kind::Map(&["devicePath"]),
        (_, "hostAliases" | "podIPs" | "hostIPs") => Kind::Map(&["ip"]),
        (_, "topologySpreadConstraints") => Kind::Map(&["topologyKey", "whenUnsatisfiable"]),
        (_, "conditions") | ("status", "addresses") => Kind::Map(&["type"]),
        (_, "ownerReferences") => Kind::Map(&["uid"]),
        (_, "finalizers" | "accessModes" | "loadBalancerSourceRanges" | "podCIDRs") => Kind::Set,
        _ => Kind::Atomic,
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
