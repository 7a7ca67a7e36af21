//! All served resources, watchable or not, in every version, for operations.

use std::sync::Arc;

use futures::try_join;
use spindrift_model::{ApiVersion, Resource};

use super::{ACCEPT, Group, GroupVersion, Served};
use crate::client::{api::Api, error::ApiError};

/// All resources that a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    /// In the server's order: groups by priority, the preferred version of each first.
    pub resources: Vec<ServedResource>,
    /// Groups that returned an error or stale data: their resources are unknown.
    pub undiscovered_groups: Vec<String>,
}

/// Resource in one of its served versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedResource {
    /// Names and scope.
    pub resource: Resource,
    /// `get`, `list`, `create` …
    pub verbs: Vec<String>,
    /// Such as `deploy`.
    pub short_names: Vec<String>,
}

impl Api {
    /// Requests all served resources; a broken group does not hide the others.
    pub async fn catalogue(&self) -> Result<Catalogue, ApiError> {
        let (mut groups, others) = try_join!(self.groups("api", ACCEPT), self.groups("apis", ACCEPT))?;
        groups.extend(others);
        Ok(Catalogue::of(groups))
    }

    /// Requests the resources of one version of a group; none if the version is not served.
    pub async fn served_in(
        &self,
        group: &str,
        version: &str,
    ) -> Result<Option<Vec<ServedResource>>, ApiError> {
        match self.version_resources(group, version).await {
            Ok(served) => Ok(Some(ServedResource::all(&group.into(), &version.to_owned().into(), served))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

// === impl Catalogue ===

impl Catalogue {
    fn of(groups: Vec<Group>) -> Self {
        let mut catalogue = Self::default();
        for Group { name, versions } in groups {
            if versions.iter().any(|version| version.resources.is_none()) {
                catalogue.undiscovered_groups.push(name.clone());
            }
            let group: Arc<str> = name.into();
            for GroupVersion { name: version, resources } in versions {
                let served = resources.unwrap_or_default();
                catalogue.resources.extend(ServedResource::all(&group, &version.into(), served));
            }
        }
        catalogue
    }
}

// === impl ServedResource ===

impl ServedResource {
    fn all(group: &Arc<str>, version: &ApiVersion, served: Vec<Served>) -> Vec<Self> {
        let is_resource = |served: &Served| {
            !served.plural.contains('/') && !served.kind.is_empty() && !served.plural.is_empty()
        };
        served
            .into_iter()
            .filter(is_resource)
            .map(|Served { kind, plural, namespaced, verbs, short_names }| {
                let (group, version) = (group.clone(), version.clone());
                let resource =
                    Resource { group, version, kind: kind.into(), plural: plural.into(), namespaced };
                Self { resource, verbs, short_names }
            })
            .collect()
    }
}
