//! Reads of the cluster that a deployment needs.

use serde_json::Value;
use spindrift_model::{Discover, ErrorKind, Matches, Verb};
use spindrift_spinnaker::{
    Artifact, Coordinates, Kind, Live, Lookup, Manifest, OperationDescription, Version,
};

use super::{Listing, OperationExecutor};
use crate::clouddriver::{object_ref::object_ref, tasks::step_error::StepError};

// === impl OperationExecutor ===

impl OperationExecutor<'_> {
    /// Cluster-scoped kinds among the unknown kinds of a deployment with a namespace override. If discovery fails, none: the
    /// first request that is sent to the cluster reports the error.
    pub(in crate::clouddriver::tasks) async fn cluster_scoped(
        &mut self,
        description: &OperationDescription,
    ) -> Result<Vec<Kind>, StepError> {
        let OperationDescription::Deploy(deploy) = description else { return Ok(Vec::new()) };
        let manifests = match deploy.namespace_override.as_deref().map(str::trim) {
            None | Some("") => return Ok(Vec::new()),
            Some(_) => description.manifests().unwrap_or_default(),
        };
        let rules = &self.account.settings.kinds;
        let is_unknown = |kind: &&Kind| rules.is_namespaced(kind).is_none();
        let unknown: Vec<&Kind> = manifests.iter().map(Manifest::kind).filter(is_unknown).collect();
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let (live, account) = (self.steps.live(), self.account.name.clone());
        let reading = async {
            let answer = live.call(&account, Verb::Discover(Discover {}), None, None).await;
            match answer.and_then(|answer| answer.json()) {
                Ok(served) => {
                    Ok(served_cluster_scoped(&served).filter(|kind| unknown.contains(&kind)).collect())
                }
                Err(error) if error.kind == ErrorKind::HubStopping => Err(error),
                Err(_) => Ok(Vec::new()),
            }
        };
        self.steps.read(reading).await
    }

    /// Performs the lookups that a manifest needs.
    pub(super) async fn look_up(
        &mut self,
        manifest: Option<&Manifest>,
        lookups: &[Lookup],
    ) -> Result<Live, StepError> {
        let mut live = Live::default();
        let Some(manifest) = manifest else { return Ok(live) };
        for lookup in lookups {
            match lookup {
                Lookup::Get(target) => live.got.extend(self.get(target).await?),
                Lookup::List { kind, namespace } => {
                    // A forbidden list is an error: with no versions, the next would be the first and overwrite an existing one.
                    let is_version = |object: &Manifest| {
                        let name = Artifact::deployed(object).and_then(|artifact| artifact.name);
                        name.is_some() && name.as_deref() == manifest.name()
                    };
                    live.listed = self.list(Listing::of(kind, namespace), is_version).await?;
                    // The values of an edited Secret are not in its manifest, which is therefore equal to no version.
                    let is_edited = manifest.lacks_values() && manifest.uid().is_some();
                    if kind.is("secret") && !is_edited {
                        live.same = self.same(manifest, &live.listed).await?;
                    }
                }
            }
        }
        Ok(live)
    }

    /// Oldest version of a Secret that was applied with the same content. The agent compares, so that its values do not
    /// leave the cluster.
    async fn same(&mut self, manifest: &Manifest, versions: &[Manifest]) -> Result<Vec<String>, StepError> {
        for name in Version::names(manifest, versions) {
            let target = Coordinates { name: name.clone(), ..manifest.coordinates() };
            let matches = Matches {
                target: object_ref(&target),
                manifest: Some(spindrift_model::Manifest(Value::from(manifest.clone()))),
                other: None,
            };
            // Only objects that were applied count: for others the original manifest is unknown.
            let is_same = |answer: &Value| answer["matches"] == true && answer["by"] == "lastApplied";
            let found = self.read(Verb::Matches(matches), is_same).await;
            if found.map_err(|error| error.or_failure(|said| super::unread(&target, said)))? {
                return Ok(vec![name]);
            }
        }
        Ok(Vec::new())
    }
}

/// Cluster-scoped kinds that a cluster serves.
fn served_cluster_scoped(served: &Value) -> impl Iterator<Item = Kind> {
    let resources = served["resources"].as_array().into_iter().flatten();
    resources
        .filter(|resource| resource["namespaced"] == false)
        .filter_map(|resource| Some(Kind::of_group(resource["group"].as_str()?, resource["kind"].as_str()?)))
}
