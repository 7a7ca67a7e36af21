//! What a deployment has to know of the cluster.

use serde_json::Value;
use spindrift_model::{Discover, ErrorKind, Matches, Verb};
use spindrift_spinnaker::{
    Artifact, Coordinates, Kind, Live, Lookup, Manifest, OperationDescription, Version,
};

use super::{Act, Listing};
use crate::clouddriver::{object_ref::object_ref, tasks::halt::Halt};

// === impl Act ===

impl Act<'_> {
    /// The kinds without namespaces among those that are to be put into one, and that nobody described. A cluster that
    /// cannot be asked is taken to have none: what is wrong with it is told when something is sent there.
    pub(in crate::clouddriver::tasks) async fn without_namespaces(
        &mut self,
        description: &OperationDescription,
    ) -> Result<Vec<Kind>, Halt> {
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
        let asking = async {
            let answer = live.call(&account, Verb::Discover(Discover {}), None, None).await;
            match answer.and_then(|answer| answer.json()) {
                Ok(served) => Ok(global(&served).filter(|kind| unknown.contains(&kind)).collect()),
                Err(error) if error.kind == ErrorKind::HubStopping => Err(error),
                Err(_) => Ok(Vec::new()),
            }
        };
        self.steps.learn(asking).await
    }

    /// Finds out what has to be known to prepare a manifest.
    pub(super) async fn look_up(
        &mut self,
        manifest: Option<&Manifest>,
        lookups: &[Lookup],
    ) -> Result<Live, Halt> {
        let mut live = Live::default();
        let Some(manifest) = manifest else { return Ok(live) };
        for lookup in lookups {
            match lookup {
                Lookup::Get(target) => live.got.extend(self.get(target).await?),
                Lookup::List { kind, namespace } => {
                    // As if there were none, the next would be the first, and overwrite that: who may not read them
                    // deploys nothing that has versions.
                    let is_version = |object: &Manifest| {
                        let name = Artifact::deployed(object).and_then(|artifact| artifact.name);
                        name.is_some() && name.as_deref() == manifest.name()
                    };
                    live.listed = self.list(Listing::of(kind, namespace), is_version).await?;
                    if kind.is("secret") {
                        live.same = self.same(manifest, &live.listed).await?;
                    }
                }
            }
        }
        Ok(live)
    }

    /// The oldest version of a Secret that was applied with the same content. Its values do not leave the cluster: the
    /// agent compares.
    async fn same(&mut self, manifest: &Manifest, versions: &[Manifest]) -> Result<Vec<String>, Halt> {
        for name in Version::names(manifest, versions) {
            let target = Coordinates { name: name.clone(), ..manifest.coordinates() };
            let matches = Matches {
                target: object_ref(&target),
                manifest: Some(spindrift_model::Manifest(Value::from(manifest.clone()))),
                other: None,
            };
            // What was never applied holds something, too; but nobody knows what it was made from.
            let is_same = |answer: &Value| answer["matches"] == true && answer["by"] == "lastApplied";
            let found = self.ask(Verb::Matches(matches), is_same).await;
            if found.map_err(|halt| halt.told(|said| super::unread(&target, said)))? {
                return Ok(vec![name]);
            }
        }
        Ok(Vec::new())
    }
}

/// The kinds without namespaces that a cluster serves.
fn global(served: &Value) -> impl Iterator<Item = Kind> {
    let resources = served["resources"].as_array().into_iter().flatten();
    resources
        .filter(|resource| resource["namespaced"] == false)
        .filter_map(|resource| Some(Kind::of_group(resource["group"].as_str()?, resource["kind"].as_str()?)))
}
