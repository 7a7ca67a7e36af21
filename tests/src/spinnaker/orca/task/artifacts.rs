//! Where manifests come from, and which artifacts an object uses.

use serde_json::json;

use super::{
    Outcome, Progress,
    stable::{self, Shown},
};
use crate::spinnaker::orca::{Exception, Shift, Stage, clouddriver::Refusal};

/// So many attempts to read the object.
const ATTEMPTS: u32 = 5;

/// The manifests of the stage's own text; nothing is bound to them here.
pub(super) fn resolve_deploy_source(stage: &mut Stage) -> Outcome {
    let mut manifests = stage.get("manifests").clone();
    if manifests.is_null() && !stage.get("manifest").is_null() {
        manifests = json!([stage.get("manifest")]);
    }
    if manifests.is_null() {
        return Err(Exception::illegal("the stage has no manifests"));
    }
    stage.put_out("manifests", manifests);
    stage.put_out("requiredArtifacts", json!([]));
    stage.put_out("optionalArtifacts", json!([]));
    Ok(Progress::Succeeded)
}

/// The patch of the stage's own text.
pub(super) fn resolve_patch_source(stage: &mut Stage) {
    let body = stage.get("patchBody").clone();
    let bodies = if body.is_array() { body } else { json!([body]) };
    stage.put_out("manifests", bodies);
    stage.put_out("requiredArtifacts", json!([]));
    stage.put_out("allArtifacts", json!([]));
}

/// The artifacts of an object.
pub(super) async fn find(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let (account, location) = (stage.account()?, stage.text("location")?);
    let name = stage.text("manifestName")?;
    let mut pause = shift.pace.submit;
    let mut attempt = 1;
    let answer = loop {
        match stable::get(shift, &account, &location, &name).await {
            Err(refusal) if attempt < ATTEMPTS && !refusal.is_final() => {}
            answer => break answer.map_err(Refusal::into_exception)?,
        }
        attempt += 1;
        tokio::time::sleep(pause).await;
        pause *= 2;
    };
    let found = Shown::read(&answer)?;
    stage.put_out("manifest", found.manifest);
    stage.put_out("artifacts", found.artifacts);
    Ok(Progress::Succeeded)
}
