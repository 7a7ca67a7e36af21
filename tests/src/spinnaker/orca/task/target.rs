//! Finding out which manifest a stage is about.

use std::time::Duration;

use serde_json::Value;

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Shift, Stage,
    clouddriver::{Refusal, segment},
    exception::string,
};

/// So many attempts, with growing pauses between them.
const ATTEMPTS: u32 = 10;

/// Asks for the manifest that meets the criteria, if the stage does not name one.
pub(super) async fn resolve(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    if stage.get("mode") != "dynamic" {
        return Ok(Progress::Succeeded);
    }
    let mut path = String::from("/manifests");
    for part in [
        &stage.account()?,
        &stage.text("location")?,
        &stage.text("kind")?,
        "cluster",
        &stage.text("app")?,
        &stage.text("cluster")?,
        "dynamic",
        &stage.text("criteria")?,
    ] {
        path.push('/');
        path.push_str(&segment(part));
    }
    let found = ask(shift, path).await.map_err(Refusal::into_exception)?;
    if !found.is_object() {
        return Err(Exception::conversion("the dynamic target is no object"));
    }
    let (kind, name) = (string("kind", &found["kind"])?, string("name", &found["name"])?);
    stage.put_out("manifestName", format!("{kind} {name}"));
    Ok(Progress::Succeeded)
}

async fn ask(shift: &Shift<'_>, path: String) -> Result<Value, Refusal> {
    let mut pause: Duration = shift.pace.read * 2;
    for _ in 1..ATTEMPTS {
        match shift.clouddriver.get(&shift.place, path.clone()).await {
            Err(refusal) if !refusal.is_final() => {}
            answer => return answer,
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    shift.clouddriver.get(&shift.place, path).await
}
