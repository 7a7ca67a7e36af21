//! Discovery of API servers before 1.26 (and of those that have the aggregated one switched off): a question per version.

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;

use super::{Group, Served, Version};
use crate::client::{api::Api, error::ApiError, request::Get};

/// A group of which only the names of its versions are known.
pub(super) struct Named {
    name: String,
    /// In the server's order of preference.
    pub(super) versions: Vec<String>,
}

#[derive(Deserialize)]
struct CoreVersions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    groups: Vec<GroupDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupDocument {
    name: String,
    versions: Vec<VersionDocument>,
    #[serde(default)]
    preferred_version: Option<VersionDocument>,
}

#[derive(Deserialize)]
struct VersionDocument {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Option<Vec<ResourceDocument>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDocument {
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

/// How many questions are asked at once; a cluster may have two hundred versions.
const AT_ONCE: usize = 8;

pub(super) fn core_group(body: &[u8]) -> serde_json::Result<Vec<Named>> {
    let CoreVersions { versions } = serde_json::from_slice(body)?;
    Ok(vec![Named { name: String::new(), versions }])
}

pub(super) fn named_groups(body: &[u8]) -> serde_json::Result<Vec<Named>> {
    let GroupList { groups } = serde_json::from_slice(body)?;
    Ok(groups.into_iter().map(Named::from).collect())
}

impl Api {
    pub(super) async fn legacy_groups(&self, groups: Vec<Named>) -> Result<Vec<Group>, ApiError> {
        stream::iter(groups.into_iter().map(|group| self.legacy_group(group)))
            .buffered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn legacy_group(&self, Named { name, versions: names }: Named) -> Result<Group, ApiError> {
        let mut versions = Vec::new();
        for version in names {
            let resources = self.legacy_resources(&name, &version).await?;
            versions.push(Version { name: version, resources });
        }
        Ok(Group { name, versions })
    }

    /// None if this version answers with an error: its own server may be down. No answer at all is not its fault.
    async fn legacy_resources(&self, group: &str, version: &str) -> Result<Option<Vec<Served>>, ApiError> {
        match self.version_resources(group, version).await {
            Ok(served) => Ok(Some(served)),
            Err(ApiError::Refused { .. } | ApiError::Malformed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What one version of a group serves.
    pub(super) async fn version_resources(
        &self,
        group: &str,
        version: &str,
    ) -> Result<Vec<Served>, ApiError> {
        let get =
            if group.is_empty() { Get::new(["api", version]) } else { Get::new(["apis", group, version]) };
        let ResourceList { resources } = self.read_json(&get).await?;
        Ok(resources.unwrap_or_default().into_iter().map(Served::from).collect())
    }
}

// === impl Named ===

impl From<GroupDocument> for Named {
    fn from(group: GroupDocument) -> Self {
        let GroupDocument { name, versions, preferred_version } = group;
        let mut versions: Vec<_> = versions.into_iter().map(|document| document.version).collect();
        if let Some(VersionDocument { version: preferred }) = preferred_version {
            // Stable: the others keep their order.
            versions.sort_by_key(|version| *version != preferred);
        }
        Self { name, versions }
    }
}

// === impl Served ===

impl From<ResourceDocument> for Served {
    fn from(document: ResourceDocument) -> Self {
        let ResourceDocument { name, kind, namespaced, verbs, short_names } = document;
        Self { kind, plural: name, namespaced, verbs, short_names }
    }
}
