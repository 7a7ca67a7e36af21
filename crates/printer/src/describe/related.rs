//! Objects that a description needs besides its own, such as the pods of a replica set.

use std::collections::HashMap;

use serde_json::Value;

use crate::{KindRef, look::Look};

/// Related objects by kind. A kind that is not cached has no entry.
#[derive(Debug, Default)]
pub struct RelatedObjects(HashMap<String, Vec<Value>>);

/// Related kind: its API group, kind and namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelatedKind {
    pub group: &'static str,
    pub kind: &'static str,
    pub within: RelatedScope,
}

/// Place of related objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelatedScope {
    /// Namespace of the object.
    SameNamespace,
    /// Namespace that the object is.
    OwnNamespace,
    /// All namespaces, on the node that the object is.
    OnNode,
    /// Namespace of node leases.
    NodeLeases,
}

const PODS: RelatedKind = RelatedKind { group: "", kind: "Pod", within: RelatedScope::SameNamespace };
const SLICES: RelatedKind =
    RelatedKind { group: "discovery.k8s.io", kind: "EndpointSlice", within: RelatedScope::SameNamespace };

/// Kinds that the description of a kind needs.
pub fn related_kinds(kind: KindRef<'_>) -> &'static [RelatedKind] {
    match (kind.group, kind.kind) {
        ("apps", "Deployment") => {
            &[RelatedKind { group: "apps", kind: "ReplicaSet", within: RelatedScope::SameNamespace }]
        }
        ("apps", "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("", "ReplicationController" | "PersistentVolumeClaim") => &[PODS],
        ("", "Service") => &[SLICES],
        ("networking.k8s.io", "Ingress") => {
            &[SLICES, RelatedKind { group: "", kind: "Service", within: RelatedScope::SameNamespace }]
        }
        ("", "Namespace") => &[
            RelatedKind { group: "", kind: "ResourceQuota", within: RelatedScope::OwnNamespace },
            RelatedKind { group: "", kind: "LimitRange", within: RelatedScope::OwnNamespace },
        ],
        ("", "Node") => &[
            RelatedKind { group: "", kind: "Pod", within: RelatedScope::OnNode },
            RelatedKind { group: "coordination.k8s.io", kind: "Lease", within: RelatedScope::NodeLeases },
        ],
        _ => &[],
    }
}

// === impl RelatedObjects ===

impl RelatedObjects {
    /// Adds all objects of a kind; none if there are none.
    pub fn add(&mut self, kind: &str, objects: Vec<Value>) {
        self.0.insert(kind.to_owned(), objects);
    }

    /// Whether objects of the kind are known.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    /// Objects of a kind, as the API server sorts them.
    pub(super) fn all(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.0.get(kind).into_iter().flatten()
    }

    /// Objects of a kind that an object controls.
    pub(super) fn owned<'a>(&'a self, kind: &str, owner: &Value) -> Vec<&'a Value> {
        let uid = owner.text("/metadata/uid").to_owned();
        let is_owned = |object: &&Value| {
            let owners = object.list("/metadata/ownerReferences").iter();
            let controller = owners.clone().find(|owner| owner.flag("/controller"));
            controller.is_some_and(|owner| !uid.is_empty() && owner.text("/uid") == uid)
        };
        self.all(kind).filter(is_owned).collect()
    }
}
