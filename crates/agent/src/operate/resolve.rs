//! From the kind that a request names to the resource that the API server serves.

use http::Method;
use serde::Deserialize;
use spindrift_kubernetes::Call;
use spindrift_model::Resource;

use super::{Failure, Hand};

#[derive(Deserialize)]
struct Served {
    resources: Vec<ServedResource>,
}

#[derive(Deserialize)]
struct ServedResource {
    name: String,
    kind: String,
    namespaced: bool,
}

// === impl Hand ===

impl Hand {
    /// The resource of a kind, by the version that the request names first.
    pub async fn resolve(&self, api_version: Option<&str>, kind: &str) -> Result<Resource, Failure> {
        let api_version = api_version.unwrap_or("v1");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let call = match group {
            "" => Call::new(Method::GET, ["api", version]),
            _ => Call::new(Method::GET, ["apis", group, version]),
        };
        let reply = self.api().call(&call, self.deadline).await.map_err(|error| Failure::of_read(&error))?;
        let Served { resources } = serde_json::from_slice(&reply.body).map_err(|error| {
            Failure::ours(502, "BadGateway", format!("discovery of {api_version}: {error}"))
        })?;
        let found = resources.into_iter().find(|served| served.kind == kind && !served.name.contains('/'));
        let found = found.ok_or_else(|| {
            let account = &self.account.description.name;
            Failure::ours(404, "NotFound", format!("no kind {kind} in {api_version} of account {account}"))
        })?;
        Ok(Resource {
            group: group.into(),
            version: version.into(),
            kind: found.kind.into(),
            plural: found.name.into(),
            namespaced: found.namespaced,
        })
    }
}
