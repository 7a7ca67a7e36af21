//! From the kind that somebody names to the resource that an API server serves.
//!
//! ```text
//! apps/v1 Deployment ─▶ known? ─▶ ask for apps/v1 ──────────┐
//! deploy             ─▶ known? ─▶ ask for everything ───────┴─▶ Resource
//! ```
//!
//! What is known is forgotten after a while; what is not known is asked for, so that a kind that came a moment ago is
//! found. What everything is costs more than one version: it is asked for at a pace, by one at a time.

mod name;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use spindrift_model::Resource;
use tokio::time::{Instant, sleep_until};

use self::name::Name;
use crate::{
    Catalogue, ServedResource,
    client::{api::Api, error::ApiError},
};

/// As long as something known is believed: definitions that change their scope or version are rare.
const FRESH: Duration = Duration::from_mins(10);
/// The least time between two questions for everything.
const PACE: Duration = Duration::from_secs(1);
/// How many versions of groups are kept, each some kilobytes; more than Spinnaker deploys to one cluster.
const MOST_VERSIONS: usize = 48;

/// What is known of the resources of one API server.
#[derive(Debug, Default)]
pub struct Resolver {
    known: Mutex<Known>,
    /// Held by the one who asks for everything.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// By group and version, as in manifests.
    versions: HashMap<String, (Instant, Arc<Vec<ServedResource>>)>,
    everything: Option<(Instant, Arc<Catalogue>)>,
}

// === impl Resolver ===

impl Resolver {
    /// The resource of a kind by whatever name: `Deployment`, `deployments`, `deploy`, `Deployment.apps`,
    /// `deployments.v1.apps`, in any case; none if it is not served.
    ///
    /// With an API version, it is that of exactly this version. Without one, it is the first in the server's order, in
    /// the version that the server prefers.
    pub async fn resolve(
        &self,
        api: &Api,
        api_version: Option<&str>,
        kind: &str,
    ) -> Result<Option<Resource>, ApiError> {
        let name = Name::parse(kind);
        match api_version.filter(|version| !version.is_empty()) {
            Some(api_version) => self.in_version(api, api_version, &name).await,
            None => self.anywhere(api, &name).await,
        }
    }

    /// Everything that is served now.
    pub async fn everything(&self, api: &Api) -> Result<Arc<Catalogue>, ApiError> {
        let catalogue = Arc::new(api.catalogue().await?);
        self.known.lock().everything = Some((Instant::now(), catalogue.clone()));
        Ok(catalogue)
    }

    /// What is known has turned out to be wrong.
    pub fn forget(&self) {
        *self.known.lock() = Known::default();
    }

    async fn in_version(
        &self,
        api: &Api,
        api_version: &str,
        name: &Name,
    ) -> Result<Option<Resource>, ApiError> {
        let known = self.known.lock().version(api_version);
        if let Some(found) = known.and_then(|known| name.within(&known)) {
            return Ok(Some(found));
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let Some(served) = api.served_in(group, version).await? else { return Ok(None) };
        let found = name.within(&served);
        self.known.lock().learn(api_version, served);
        Ok(found)
    }

    async fn anywhere(&self, api: &Api, name: &Name) -> Result<Option<Resource>, ApiError> {
        let asked = Instant::now();
        let known = self.known.lock().everything.clone().filter(|(at, _)| at.elapsed() < FRESH);
        if let Some((_, catalogue)) = known
            && let Some(found) = name.among(&catalogue.resources)
        {
            return Ok(Some(found));
        }
        let _asking = self.asking.lock().await;
        let last = self.known.lock().everything.clone();
        let catalogue = match last {
            // Somebody else has just asked, while we waited.
            Some((at, catalogue)) if at > asked => catalogue,
            last => {
                if let Some((at, _)) = last {
                    sleep_until(at + PACE).await;
                }
                self.everything(api).await?
            }
        };
        Ok(name.among(&catalogue.resources))
    }
}

// === impl Known ===

impl Known {
    fn version(&self, api_version: &str) -> Option<Arc<Vec<ServedResource>>> {
        let (at, served) = self.versions.get(api_version)?;
        (at.elapsed() < FRESH).then(|| served.clone())
    }

    fn learn(&mut self, api_version: &str, served: Vec<ServedResource>) {
        if self.versions.len() >= MOST_VERSIONS {
            self.versions.retain(|_, (at, _)| at.elapsed() < FRESH);
        }
        if self.versions.len() >= MOST_VERSIONS {
            self.versions.clear();
        }
        self.versions.insert(api_version.to_owned(), (Instant::now(), Arc::new(served)));
    }
}
