//! Submission of operations: the parts of a stage's context in them, and their request ids.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Shift, Stage,
    exception::{list, map, string},
};

/// Deploys the manifests that were resolved before, with the fields that a rollout strategy requires of Clouddriver.
pub(super) async fn deploy(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let account = stage.account()?;
    let mut description = description(stage);
    description.insert("source".into(), json!("text"));
    let traffic = stage.get("trafficManagement");
    if traffic["enabled"] == true {
        let options = map("trafficManagement.options", &traffic["options"])?;
        let enable = options.get("enableTraffic").cloned().unwrap_or(json!(false));
        description.insert("enableTraffic".into(), enable);
        description.insert("services".into(), options.get("services").cloned().unwrap_or(json!([])));
        if let Some(strategy) = options.get("strategy") {
            description.insert("strategy".into(), json!(strategy_name(string("strategy", strategy)?)?));
        }
    } else {
        description.insert("enableTraffic".into(), json!(true));
    }
    stage.remember("kato.result.expected", true);
    stage.remember("deploy.account.name", account);
    submit(shift, stage, "deployManifest", &description).await
}

/// Patches with the body that was resolved before.
pub(super) async fn patch(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let mut description = description(stage);
    description.insert("source".into(), json!("text"));
    let is_json = stage.get("options")["mergeStrategy"] == "json";
    let bodies = list("manifests", stage.get("manifests"))?;
    let body = match bodies {
        [only] if !is_json => only.clone(),
        several => json!(several),
    };
    description.insert("patchBody".into(), body);
    stage.remember("kato.result.expected", true);
    let account = stage.account()?;
    stage.remember("deploy.account.name", account);
    submit(shift, stage, "patchManifest", &description).await
}

/// Runs a job of a manifest.
pub(super) async fn run_job(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let account = stage.account()?;
    let mut description = description(stage);
    for artifacts in ["requiredArtifacts", "optionalArtifacts"] {
        description.insert(artifacts.into(), json!([]));
    }
    stage.remember("kato.result.expected", false);
    stage.remember("deploy.account.name", account);
    submit(shift, stage, "runJob", &description).await
}

/// Has Clouddriver remove versions that are too many.
pub(super) async fn clean_up(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let manifests = stage.get("outputs.manifests");
    if manifests.is_null() {
        return Err(Exception::null_pointer("outputs.manifests"));
    }
    let description =
        map("cleanupArtifacts", &json!({ "manifests": manifests, "account": stage.account()? }))?.clone();
    stage.remember("kato.result.expected", false);
    submit(shift, stage, "cleanupArtifacts", &description).await
}

/// Any operation on one manifest.
pub(super) async fn on_manifest(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let account = stage.account()?;
    let is_deletion = stage.kind == "deleteManifest";
    if is_deletion {
        stage.remember("deploy.account.name", account);
    } else {
        let (location, name) = (stage.text("location")?, stage.text("manifestName")?);
        stage.remember_target(&account, &location, &name);
    }
    let description = description(stage);
    stage.remember("kato.result.expected", is_deletion);
    let operation = stage.kind.clone();
    submit(shift, stage, &operation, &description).await
}

/// The context, without Orca's own keys.
fn description(stage: &Stage) -> Map<String, Value> {
    const OWN: [&str; 4] = ["kato.", "outputs.", "manifest.", "deploy."];
    let is_own = |key: &str| OWN.iter().any(|prefix| key.starts_with(prefix)) || key == "artifacts";
    stage.context.iter().filter(|(key, _)| !is_own(key)).map(|(key, it)| (key.clone(), it.clone())).collect()
}

async fn submit(
    shift: &Shift<'_>,
    stage: &mut Stage,
    operation: &str,
    description: &Map<String, Value>,
) -> Outcome {
    let provider = stage.cloud_provider()?;
    let operations = json!([{ operation: description }]);
    let id = client_request_id(stage, &operations);
    let path = format!("/{provider}/ops?clientRequestId={id}");
    let answer = shift.clouddriver.submit(&shift.place, &path, &operations, shift.pace.submit).await?;
    let Some(answer) = answer else { return Ok(Progress::Running) };
    let id = string("id", &answer["id"])?;
    stage.remember("kato.last.task.id", json!({ "id": id }));
    stage.remember("kato.task.notFoundRetryCount", 0);
    Ok(Progress::Succeeded)
}

/// The same for every attempt of one start of a stage, so that nothing is done twice.
fn client_request_id(stage: &Stage, operations: &Value) -> String {
    let bytes: Vec<_> = operations.to_string().bytes().map(|byte| byte.cast_signed().to_string()).collect();
    let seed = format!("{}-{}-[{}]", stage.id, stage.start_time, bytes.join(", "));
    let mut hex = String::new();
    for byte in digest(&SHA256, seed.as_bytes()).as_ref() {
        // A `String` takes everything.
        write!(hex, "{byte:02x}").ok();
    }
    hex
}

/// Clouddriver's constant for a strategy.
fn strategy_name(strategy: &str) -> Result<&'static str, Exception> {
    match strategy {
        "redblack" => Ok("RED_BLACK"),
        "bluegreen" => Ok("BLUE_GREEN"),
        "highlander" => Ok("HIGHLANDER"),
        "none" => Ok("NONE"),
        other => Err(Exception::illegal(format!("no strategy is called {other}"))),
    }
}
