//! Discovery of API servers before 1.26, or with aggregated discovery disabled: one request per version.

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;

use super::{Group, GroupVersion, Served};
use crate::client::{api::Api, error::ApiError, request::Get};

/// Group with the names of its versions.
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
struct LegacyGroupList {
    groups: Vec<LegacyGroup>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyGroup {
    name: String,
    versions: Vec<LegacyVersion>,
    #[serde(default)]
    preferred_version: Option<LegacyVersion>,
}

#[derive(Deserialize)]
struct LegacyVersion {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Option<Vec<LegacyResource>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyResource {
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

/// Concurrent requests; a cluster may have two hundred versions.
const AT_ONCE: usize = 8;

pub(super) fn core_group(body: &[u8]) -> serde_json::Result<Vec<Named>> {
    let CoreVersions { versions } = serde_json::from_slice(body)?;
    Ok(vec![Named { name: String::new(), versions }])
}

pub(super) fn named_groups(body: &[u8]) -> serde_json::Result<Vec<Named>> {
    let LegacyGroupList { groups } = serde_json::from_slice(body)?;
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
            versions.push(GroupVersion { name: version, resources });
        }
        Ok(Group { name, versions })
    }

    /// Returns none if this version returns an error: its own server may be down. Without any response the API server
    /// itself is down, and discovery fails.
    async fn legacy_resources(&self, group: &str, version: &str) -> Result<Option<Vec<Served>>, ApiError> {
        match self.version_resources(group, version).await {
            Ok(served) => Ok(Some(served)),
            Err(ApiError::Refused { .. } | ApiError::Malformed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Requests the resources of one version of a group.
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

impl From<LegacyGroup> for Named {
    fn from(group: LegacyGroup) -> Self {
        let LegacyGroup { name, versions, preferred_version } = group;
        let mut versions: Vec<_> = versions.into_iter().map(|document| document.version).collect();
        if let Some(LegacyVersion { version: preferred }) = preferred_version {
            // Stable: the others keep their order.
            versions.sort_by_key(|version| *version != preferred);
        }
        Self { name, versions }
    }
}

// === impl Served ===

impl From<LegacyResource> for Served {
    fn from(document: LegacyResource) -> Self {
        let LegacyResource { name, kind, namespaced, verbs, short_names } = document;
        Self { kind, plural: name, namespaced, verbs, short_names }
    }
}
