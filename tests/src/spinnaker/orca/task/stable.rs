//! Waiting until manifests are stable, or one of them has failed.

use serde_json::{Value, json};

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Shift, Stage,
    clouddriver::{Refusal, segment},
    exception::{immutable_map, list, map, string},
};

/// A manifest as Clouddriver shows it, as far as Orca reads it.
pub(in crate::spinnaker::orca) struct Shown {
    pub(in crate::spinnaker::orca) manifest: Value,
    pub(in crate::spinnaker::orca) artifacts: Value,
    is_stable: bool,
    /// With the reason.
    failed: Option<String>,
}

/// Looks at those that are not known to be stable or failed.
pub(super) async fn look(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let account = stage.account()?;
    let mut stable = list("stableManifests", stage.get("stableManifests"))?.to_vec();
    let mut failed = list("failedManifests", stage.get("failedManifests"))?.to_vec();
    let mut messages = list("messages", stage.get("messages"))?.to_vec();
    let mut is_waiting = false;
    for (location, name) in targets(stage)? {
        let target = json!({ "manifestName": name, "location": location });
        if stable.contains(&target) || failed.contains(&target) {
            continue;
        }
        // On every failure here, Orca only waits, until it gives up.
        let Ok(answer) = get(shift, &account, &location, &name).await else {
            is_waiting = true;
            continue;
        };
        match Shown::read(&answer)? {
            Shown { failed: Some(reason), .. } => {
                messages.push(json!(format!("'{name}' in '{location}' for account {account}: {reason}")));
                failed.push(target);
            }
            Shown { is_stable: true, .. } => stable.push(target),
            Shown { .. } => is_waiting = true,
        }
    }
    let has_failed = !failed.is_empty();
    stage.remember("stableManifests", stable);
    stage.remember("failedManifests", failed);
    stage.remember("messages", messages);
    Ok(match (is_waiting, has_failed) {
        (true, _) => Progress::Running,
        (false, true) => Progress::Terminal,
        (false, false) => Progress::Succeeded,
    })
}

/// Names with their locations.
fn targets(stage: &Stage) -> Result<Vec<(String, String)>, Exception> {
    let mut targets = Vec::new();
    for (location, names) in map("manifestNamesByNamespace", stage.get("outputs.manifestNamesByNamespace"))? {
        for name in list("manifestNamesByNamespace[]", names)? {
            targets.push((location.clone(), string("manifestNamesByNamespace[][]", name)?.to_owned()));
        }
    }
    Ok(targets)
}

/// A manifest; one that is in no namespace is asked for at `_`.
pub(in crate::spinnaker::orca) async fn get(
    shift: &Shift<'_>,
    account: &str,
    location: &str,
    name: &str,
) -> Result<Value, Refusal> {
    let location = if location.is_empty() { "_" } else { location };
    let path = format!("/manifests/{}/{}/{}", segment(account), segment(location), segment(name));
    shift.clouddriver.get(&shift.place, format!("{path}?includeEvents=false")).await
}

// === impl Shown ===

impl Shown {
    pub(in crate::spinnaker::orca) fn read(answer: &Value) -> Result<Self, Exception> {
        if !answer.is_object() {
            return Err(Exception::conversion("the manifest's answer is no object"));
        }
        for warning in list("warnings", &answer["warnings"])? {
            string("warnings[]", warning)?;
        }
        for event in list("events", &answer["events"])? {
            map("events[]", event)?;
        }
        let condition = |name: &str| &answer["status"][name];
        let failed = condition("failed");
        let reason = || failed["message"].as_str().unwrap_or("no reason given").to_owned();
        Ok(Self {
            manifest: immutable_map("manifest", &answer["manifest"])?.into(),
            artifacts: super::outputs::artifacts(&answer["artifacts"])?,
            is_stable: condition("stable")["state"] == true,
            failed: (failed["state"] == true).then(reason),
        })
    }

    /// Whether the outcome is still open.
    pub(in crate::spinnaker::orca) fn is_undecided(&self) -> bool {
        !self.is_stable && self.failed.is_none()
    }
}
