//! Resolution of kinds, as users name them, to served resources.
//!
//! ```text
//! apps/v1 Deployment ─▶ cached? ─▶ request apps/v1 ─────────┐
//! deploy             ─▶ cached? ─▶ request everything ──────┴─▶ Resource
//! ```
//!
//! Cached resources expire; unknown ones are requested, so that a kind that was just installed is found. The request for
//! everything costs more than that for one version: it is rate-limited, and made by one caller at a time.

mod name;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use spindrift_model::Resource;
use tokio::time::{Instant, sleep_until};

use self::name::KindName;
use crate::{
    Catalogue, ServedResource,
    client::{api::Api, error::ApiError},
};

/// Lifetime of cached resources: definitions rarely change their scope or version.
const LIFETIME: Duration = Duration::from_mins(10);
/// Shortest time between two requests for everything.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Number of cached group versions, of some kilobytes each; more than Spinnaker deploys to one cluster.
const MAX_VERSIONS: usize = 48;

/// Cache of the resources of one API server.
#[derive(Debug, Default)]
pub struct Resolver {
    cached: Mutex<CachedResources>,
    /// Held during a request for everything.
    requesting: tokio::sync::Mutex<()>,
}

/// Age that the answer "no such kind" may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindFreshness {
    /// A kind that was installed before the call is found; the call may wait for [`REQUEST_INTERVAL`].
    Current,
    /// A kind that was installed within the last [`REQUEST_INTERVAL`] may be missing; the call does not wait.
    Recent,
}

#[derive(Debug, Default)]
struct CachedResources {
    /// By group and version, as in manifests.
    versions: HashMap<String, (Instant, Arc<Vec<ServedResource>>)>,
    everything: Option<(Instant, Arc<Catalogue>)>,
}

// === impl Resolver ===

impl Resolver {
    /// Returns the resource of a kind by any of its names: `Deployment`, `deployments`, `deploy`, `Deployment.apps`,
    /// `deployments.v1.apps`, in any case; none if it is not served.
    ///
    /// With an API version, it is that of exactly this version. Without one, it is the first in the server's order, in
    /// the version that the server prefers.
    pub async fn resolve(
        &self,
        api: &Api,
        api_version: Option<&str>,
        kind: &str,
        freshness: KindFreshness,
    ) -> Result<Option<Resource>, ApiError> {
        let name = KindName::parse(kind);
        match api_version.filter(|version| !version.is_empty()) {
            Some(api_version) => self.in_version(api, api_version, &name).await,
            None => self.anywhere(api, &name, freshness).await,
        }
    }

    /// Requests all served resources.
    pub async fn everything(&self, api: &Api) -> Result<Arc<Catalogue>, ApiError> {
        let catalogue = Arc::new(api.catalogue().await?);
        self.cached.lock().everything = Some((Instant::now(), catalogue.clone()));
        Ok(catalogue)
    }

    /// Clears the cache, after it turned out to be outdated.
    pub fn clear(&self) {
        *self.cached.lock() = CachedResources::default();
    }

    async fn in_version(
        &self,
        api: &Api,
        api_version: &str,
        name: &KindName,
    ) -> Result<Option<Resource>, ApiError> {
        let cached = self.cached.lock().version(api_version);
        if let Some(found) = cached.and_then(|cached| name.within(&cached)) {
            return Ok(Some(found));
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let Some(served) = api.served_in(group, version).await? else { return Ok(None) };
        let found = name.within(&served);
        self.cached.lock().insert(api_version, served);
        Ok(found)
    }

    async fn anywhere(
        &self,
        api: &Api,
        name: &KindName,
        freshness: KindFreshness,
    ) -> Result<Option<Resource>, ApiError> {
        let started = Instant::now();
        let cached = self.cached.lock().everything.clone().filter(|(at, _)| at.elapsed() < LIFETIME);
        if let Some((_, catalogue)) = cached
            && let Some(found) = name.among(&catalogue.resources)
        {
            return Ok(Some(found));
        }
        let _requesting = self.requesting.lock().await;
        let last = self.cached.lock().everything.clone();
        let catalogue = match last {
            // Another caller made the request while this one waited.
            Some((at, catalogue)) if at > started => catalogue,
            Some((at, catalogue)) if freshness.accepts(at) => catalogue,
            last => {
                if let Some((at, _)) = last {
                    sleep_until(at + REQUEST_INTERVAL).await;
                }
                self.everything(api).await?
            }
        };
        Ok(name.among(&catalogue.resources))
    }
}

// === impl KindFreshness ===

impl KindFreshness {
    fn accepts(self, at: Instant) -> bool {
        self == Self::Recent && at.elapsed() < REQUEST_INTERVAL
    }
}

// === impl CachedResources ===

impl CachedResources {
    fn version(&self, api_version: &str) -> Option<Arc<Vec<ServedResource>>> {
        let (at, served) = self.versions.get(api_version)?;
        (at.elapsed() < LIFETIME).then(|| served.clone())
    }

    fn insert(&mut self, api_version: &str, served: Vec<ServedResource>) {
        if self.versions.len() >= MAX_VERSIONS {
            self.versions.retain(|_, (at, _)| at.elapsed() < LIFETIME);
        }
        if self.versions.len() >= MAX_VERSIONS {
            self.versions.clear();
        }
        self.versions.insert(api_version.to_owned(), (Instant::now(), Arc::new(served)));
    }
}
