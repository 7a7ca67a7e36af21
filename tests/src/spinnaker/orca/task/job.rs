//! Waiting for a job, and reading the properties that it wrote.

use serde_json::{Map, Value, json};

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Shift, Stage,
    clouddriver::{Refusal, segment},
    exception::{list, map, string},
};

/// So many attempts to read it.
const ATTEMPTS: u32 = 6;

/// Looks at the job that was deployed.
pub(super) async fn look(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let account = stage.account()?;
    let (location, name) = only_job(stage)?;
    let application = stage.text("application")?;
    let path = format!(
        "/applications/{}/jobs/{}/{}/{}",
        segment(&application),
        segment(&account),
        segment(&location),
        segment(&name)
    );
    let job = read(shift, &path).await.map_err(Refusal::into_exception)?;
    map("job", &job)?;
    stage.put_out("jobStatus", job.clone());
    stage.put_out("completionDetails", job["completionDetails"].clone());
    match string("jobState", &job["jobState"])? {
        "Succeeded" => {}
        "Failed" => return Err(failure(&job)),
        _ => return Ok(Progress::Running),
    }
    if stage.get("propertyFile").is_null() {
        return Ok(Progress::Succeeded);
    }
    let file = stage.text("propertyFile")?;
    let properties = properties(shift, &path, &file, &application, &account, &location, &job).await?;
    if properties.is_empty() {
        return Err(Exception::illegal(format!(
            "Expected properties file {file} but it was either missing, empty or contained invalid syntax"
        )));
    }
    for (key, value) in &properties {
        stage.put_out(key, value.clone());
    }
    stage.put_out("propertyFileContents", properties);
    Ok(Progress::Succeeded)
}

/// There must be one job, in one place.
fn only_job(stage: &Stage) -> Result<(String, String), Exception> {
    let jobs = map("deploy.jobs", stage.get("deploy.jobs"))?;
    let mut jobs = jobs.iter();
    let (Some((location, names)), None) = (jobs.next(), jobs.next()) else {
        return Err(Exception::illegal("a job must be in exactly one location"));
    };
    match list("deploy.jobs[]", names)? {
        [name] => Ok((location.clone(), string("deploy.jobs[][]", name)?.to_owned())),
        names => Err(Exception::illegal(format!("one job was expected, not {}", names.len()))),
    }
}

fn failure(job: &Value) -> Exception {
    let texts = ["message", "reason", "failureDetails"].map(|key| job[key].as_str().unwrap_or_default());
    let mut exception = Exception::new(
        "JobFailedException",
        format!("Job {} failed. Reason: {}. Details: {}", job["name"], texts[1], texts[0]),
    );
    exception.details = Map::from_iter([("errors".to_owned(), json!([exception.message, texts[2]]))]);
    exception
}

async fn read(shift: &Shift<'_>, path: &str) -> Result<Value, Refusal> {
    let mut attempt = 1;
    loop {
        match shift.clouddriver.get(&shift.place, path.to_owned()).await {
            Err(refusal) if attempt < ATTEMPTS && !refusal.is_final() => {}
            answer => return answer,
        }
        attempt += 1;
        tokio::time::sleep(shift.pace.poll).await;
    }
}

/// Log of the container, by the job; else by the pod that succeeded.
async fn properties(
    shift: &Shift<'_>,
    job_path: &str,
    file: &str,
    application: &str,
    account: &str,
    location: &str,
    job: &Value,
) -> Result<Map<String, Value>, Exception> {
    let by_job =
        read(shift, &format!("{job_path}/{}", segment(file))).await.map_err(Refusal::into_exception)?;
    let by_job = map("properties", &by_job)?;
    if !by_job.is_empty() {
        return Ok(by_job.clone());
    }
    let pods = list("pods", &job["pods"])?;
    let Some(pod) = pods.iter().find(|pod| pod["status"]["phase"] == "Succeeded") else {
        return Ok(Map::new());
    };
    let parts = [account, location, string("pods[].name", &pod["name"])?, file].map(segment);
    let path = format!("/applications/{}/kubernetes/pods/{}", segment(application), parts.join("/"));
    let by_pod = read(shift, &path).await.map_err(Refusal::into_exception)?;
    Ok(map("properties", &by_pod)?.clone())
}
