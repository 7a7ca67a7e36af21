//! Aggregated discovery (`apidiscovery.k8s.io`): all groups with all versions in one response.

use serde::Deserialize;

use super::{Group, GroupVersion, Served};

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    items: Vec<GroupDocument>,
}

#[derive(Deserialize)]
struct GroupDocument {
    #[serde(default)]
    metadata: GroupMetadata,
    #[serde(default)]
    versions: Vec<VersionDocument>,
}

/// The core group has no name, and so no metadata.
#[derive(Deserialize, Default)]
struct GroupMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct VersionDocument {
    version: String,
    #[serde(default)]
    resources: Vec<ResourceDocument>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDocument {
    resource: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

#[derive(Deserialize, Default)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

pub(super) fn groups(body: &[u8]) -> serde_json::Result<Vec<Group>> {
    let GroupList { items } = serde_json::from_slice(body)?;
    Ok(items.into_iter().map(Group::from).collect())
}

// === impl Group ===

impl From<GroupDocument> for Group {
    fn from(group: GroupDocument) -> Self {
        let versions = group.versions.into_iter().map(|version| {
            // The server of this group did not respond lately; its list may be outdated.
            let known = version.freshness != "Stale";
            let resources = known.then(|| version.resources.into_iter().map(Served::from).collect());
            GroupVersion { name: version.version, resources }
        });
        Self { name: group.metadata.name, versions: versions.collect() }
    }
}

// === impl Served ===

impl From<ResourceDocument> for Served {
    fn from(document: ResourceDocument) -> Self {
        let ResourceDocument { resource, response_kind, scope, verbs, short_names } = document;
        let ResponseKind { kind } = response_kind.unwrap_or_default();
        Self { kind, plural: resource, namespaced: scope == "Namespaced", verbs, short_names }
    }
}
