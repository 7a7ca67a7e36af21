//! Rollout strategies: how the earlier replica sets end.

use serde_json::{Value, json};

use super::{
    Exception, Shift, Stage, StageSpec,
    clouddriver::{Refusal, segment},
    exception::{double, list, map, string},
    present,
    task::stable,
};

/// A replica set that was deployed, and its cluster.
struct Deployed {
    account: String,
    application: String,
    location: String,
    cluster: String,
    /// With its kind, in the spelling that Clouddriver must answer in: else the new one is taken for an old one.
    name: String,
}

/// The stages that follow a deployment.
pub(super) async fn after(shift: &Shift<'_>, stage: &Stage) -> Result<Vec<StageSpec>, Exception> {
    let traffic = stage.get("trafficManagement");
    if stage.kind != "deployManifest" || traffic["enabled"] != true {
        return Ok(Vec::new());
    }
    let strategy = traffic["options"]["strategy"].as_str().unwrap_or_default();
    let mut stages = Vec::new();
    for deployed in deployed(stage)? {
        match strategy {
            "redblack" | "bluegreen" => {
                for old in deployed.predecessors(shift).await? {
                    let kind = deployed.end_of(shift, &old).await?;
                    stages.push(deployed.stage(kind, &old));
                }
            }
            "highlander" => {
                for kind in ["disableManifest", "deleteManifest"] {
                    for old in deployed.predecessors(shift).await? {
                        stages.push(deployed.stage(kind, &old));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(stages)
}

/// The replica sets among the deployed manifests.
fn deployed(stage: &Stage) -> Result<Vec<Deployed>, Exception> {
    let mut found = Vec::new();
    for manifest in list("outputs.manifests", stage.get("outputs.manifests"))? {
        if !string("kind", &manifest["kind"])?.eq_ignore_ascii_case("ReplicaSet") {
            continue;
        }
        let metadata = &manifest["metadata"];
        let cluster = &metadata["annotations"]["moniker.spinnaker.io/cluster"];
        found.push(Deployed {
            account: stage.account()?,
            application: string("moniker.app", &stage.get("moniker")["app"])?.to_owned(),
            location: string("metadata.namespace", &metadata["namespace"])?.to_owned(),
            cluster: string("moniker.spinnaker.io/cluster", cluster)?.to_owned(),
            name: format!("replicaSet {}", string("metadata.name", &metadata["name"])?),
        });
    }
    Ok(found)
}

// === impl Deployed ===

impl Deployed {
    /// The names of the others of its cluster.
    async fn predecessors(&self, shift: &Shift<'_>) -> Result<Vec<String>, Exception> {
        let path = format!(
            "/manifests/{}/{}/replicaSet/cluster/{}/{}",
            segment(&self.account),
            segment(&self.location),
            segment(&self.application),
            segment(&self.cluster)
        );
        let answer = shift.clouddriver.get(&shift.place, path).await.map_err(Refusal::into_exception)?;
        let mut names = Vec::new();
        for coordinates in list("cluster", &answer)? {
            map("cluster[]", coordinates)?;
            let kind = string("kind", &coordinates["kind"])?;
            let name = format!("{kind} {}", string("name", &coordinates["name"])?);
            if name != self.name {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// One that serves is disabled; one whose state is undecided is deleted.
    async fn end_of(&self, shift: &Shift<'_>, old: &str) -> Result<&'static str, Exception> {
        let answer =
            stable::get(shift, &self.account, &self.location, old).await.map_err(Refusal::into_exception)?;
        let shown = stable::Shown::read(&answer)?;
        let status = &shown.manifest["status"];
        let count = |key| present(status, key).map(|value| double(key, value)).transpose();
        let serves = matches!((count("readyReplicas")?, count("availableReplicas")?), (Some(ready), Some(available)) if ready > 0.0 && available > 0.0);
        Ok(if !serves && shown.is_undecided() { "deleteManifest" } else { "disableManifest" })
    }

    fn stage(&self, kind: &str, old: &str) -> StageSpec {
        let context: Value = json!({
            "account": self.account,
            "app": self.application,
            "cloudProvider": "kubernetes",
            "manifestName": old,
            "location": self.location,
        });
        StageSpec::new(kind, context)
    }
}
