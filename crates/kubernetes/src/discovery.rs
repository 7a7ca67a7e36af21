//! Discovery of the resources that an API server serves.
//!
//! ```text
//! GET /api, /apis ──▶ aggregated (two responses, since 1.26) ───────┐
//!        └─ old server ──▶ legacy (one request per version) ────────┴──▶ groups ─┬▶ watchable, preferred ──▶ Discovery
//!                                                                                └▶ everything ──▶ Catalogue
//! ```

mod aggregated;
mod catalogue;
mod legacy;
pub(crate) mod resolve;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures::try_join;
use serde::Deserialize;
use spindrift_model::{ApiVersion, Resource};

pub use self::catalogue::{Catalogue, ServedResource};
use crate::{
    client::{api::Api, error::ApiError, request::Get},
    json::Malformed,
};

/// Resources that can be listed and watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discovery {
    /// Each kind of each group once, in the version that the server prefers.
    pub resources: Vec<Resource>,
    /// Groups that returned an error or stale data: their resources are unknown.
    pub undiscovered_groups: Vec<String>,
    short_names: ShortNames,
}

/// Short names by group and kind; only of kinds that have some.
pub(crate) type ShortNames = HashMap<(Arc<str>, Arc<str>), Vec<String>>;

/// API group, from either form of discovery.
struct Group {
    name: String,
    /// In the server's order of preference.
    versions: Vec<GroupVersion>,
}

struct GroupVersion {
    name: String,
    /// None if unknown to the server.
    resources: Option<Vec<Served>>,
}

/// Resource in one version.
struct Served {
    kind: String,
    plural: String,
    namespaced: bool,
    verbs: Vec<String>,
    short_names: Vec<String>,
}

/// In order of preference: aggregated discovery came as v2beta1 in 1.26 and as v2 in 1.30.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
    application/json";

/// Kind of the response, which differs between the forms of discovery.
#[derive(Deserialize)]
struct DiscoveryKind {
    kind: String,
}

impl Api {
    /// Requests the resources that can be listed and watched; a broken group does not hide the others.
    pub async fn discover(&self) -> Result<Discovery, ApiError> {
        self.discover_as(ACCEPT).await
    }

    async fn discover_as(&self, accept: &'static str) -> Result<Discovery, ApiError> {
        let (mut groups, others) = try_join!(self.groups("api", accept), self.groups("apis", accept))?;
        groups.extend(others);
        Ok(Discovery::of(groups))
    }

    async fn groups(&self, root: &'static str, accept: &'static str) -> Result<Vec<Group>, ApiError> {
        let get = Get::new([root]).accept(accept);
        let body = self.read(&get).await?;
        let malformed = |error: serde_json::Error| ApiError::Malformed {
            request: get.title().to_owned(),
            source: Malformed::from(error),
        };
        let DiscoveryKind { kind } = serde_json::from_slice(&body).map_err(malformed)?;
        match &*kind {
            "APIGroupDiscoveryList" => aggregated::groups(&body).map_err(malformed),
            "APIVersions" => self.legacy_groups(legacy::core_group(&body).map_err(malformed)?).await,
            _ => self.legacy_groups(legacy::named_groups(&body).map_err(malformed)?).await,
        }
    }
}

// === impl Discovery ===

impl Discovery {
    /// Returns the short names of a resource, such as those of a custom resource definition.
    pub fn short_names(&self, resource: &Resource) -> &[String] {
        let key = (resource.group.clone(), resource.kind.clone());
        self.short_names.get(&key).map_or(&[], Vec::as_slice)
    }

    #[cfg(test)]
    pub(crate) fn serving(resources: impl IntoIterator<Item = (Resource, Vec<String>)>) -> Self {
        let mut discovery = Self::default();
        for (resource, short_names) in resources {
            discovery.short_names.insert((resource.group.clone(), resource.kind.clone()), short_names);
            discovery.resources.push(resource);
        }
        discovery
    }

    fn of(groups: Vec<Group>) -> Self {
        let mut discovery = Self::default();
        for Group { name, versions } in groups {
            if versions.iter().any(|version| version.resources.is_none()) {
                discovery.undiscovered_groups.push(name.clone());
            }
            let group: Arc<str> = name.into();
            let mut kinds = HashSet::new();
            for version in versions {
                let api_version = ApiVersion::from(version.name);
                for served in version.resources.into_iter().flatten().filter(Served::is_watchable) {
                    let Served { kind, plural, namespaced, verbs: _, short_names } = served;
                    if kinds.insert(kind.clone()) {
                        let kind: Arc<str> = kind.into();
                        if !short_names.is_empty() {
                            discovery.short_names.insert((group.clone(), kind.clone()), short_names);
                        }
                        discovery.resources.push(Resource {
                            group: group.clone(),
                            version: api_version.clone(),
                            kind,
                            plural: plural.into(),
                            namespaced,
                        });
                    }
                }
            }
        }
        discovery
    }
}

// === impl Served ===

impl Served {
    fn is_watchable(&self) -> bool {
        let has = |wanted: &str| self.verbs.iter().any(|verb| verb == wanted);
        let is_subresource = self.plural.contains('/');
        has("list") && has("watch") && !is_subresource && !self.kind.is_empty() && !self.plural.is_empty()
    }
}

#[cfg(test)]
mod tests;
