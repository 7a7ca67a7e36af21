//! Watching a task of Clouddriver's until it is complete.

use serde_json::{Value, json};

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Shift, Stage,
    clouddriver::{Refusal, segment},
    exception::{boolean, list, map, string},
    present,
};

/// So many quick attempts to read it.
const ATTEMPTS: u32 = 5;

/// So many times it may be unknown: it may not have reached every replica yet.
const UNKNOWN: u64 = 30;

/// Looks at the task that was submitted last.
pub(super) async fn look(shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
    let id = string("kato.last.task.id", &stage.get("kato.last.task.id")["id"])?.to_owned();
    let task = match read(shift, &id).await {
        Ok(task) => Kato::read(&task)?,
        Err(refusal) if refusal.status() == Some(404) => return unknown(stage, refusal),
        Err(refusal) if refusal.is_for_later() => return Ok(Progress::Running),
        Err(refusal) => return Err(refusal.into_exception()),
    };
    task.remember(stage)?;
    let expects_results = stage.get("kato.result.expected") == &json!(true);
    match &task {
        Kato { failed: true, retryable: true, .. } => resume(shift, &id).await,
        Kato { failed: true, .. } => Ok(Progress::Terminal),
        // Without the expected results, Orca takes the task for unfinished, until it gives up.
        Kato { completed: true, results, .. } if results.is_empty() && expects_results => {
            Ok(Progress::Running)
        }
        Kato { completed: true, .. } => {
            task.derive_deployed(stage)?;
            Ok(Progress::Succeeded)
        }
        Kato { .. } => Ok(Progress::Running),
    }
}

async fn read(shift: &Shift<'_>, id: &str) -> Result<Value, Refusal> {
    let mut attempt = 1;
    loop {
        match shift.clouddriver.get(&shift.place, format!("/task/{}", segment(id))).await {
            Err(refusal) if attempt < ATTEMPTS && !refusal.is_final() => {}
            answer => return answer,
        }
        attempt += 1;
        tokio::time::sleep(shift.pace.read).await;
    }
}

fn unknown(stage: &mut Stage, refusal: Refusal) -> Outcome {
    let times = stage.get("kato.task.notFoundRetryCount").as_u64().unwrap_or_default() + 1;
    if times >= UNKNOWN {
        return Err(refusal.into_exception());
    }
    stage.remember("kato.task.notFoundRetryCount", times);
    Ok(Progress::Running)
}

async fn resume(shift: &Shift<'_>, id: &str) -> Outcome {
    match shift.clouddriver.post(&shift.place, format!("/task/{}:resume", segment(id)), None).await {
        Err(refusal) if refusal.status() == Some(404) => Err(refusal.into_exception()),
        _ => Ok(Progress::Running),
    }
}

/// A task of Clouddriver's, as far as Orca reads it.
struct Kato {
    completed: bool,
    failed: bool,
    retryable: bool,
    results: Vec<Value>,
    /// As the stage's context shows it.
    shown: Value,
}

// === impl Kato ===

impl Kato {
    fn read(task: &Value) -> Result<Self, Exception> {
        if !task.is_object() {
            return Err(Exception::conversion("the task is no object"));
        }
        let status = &task["status"];
        let flag = |name: &str| boolean(name, &status[name]);
        let (completed, failed, retryable) = (flag("completed")?, flag("failed")?, flag("retryable")?);
        let mut history = Vec::new();
        for line in list("history", &task["history"])? {
            let phase = string("history[].phase", &line["phase"])?;
            history.push(json!({ "phase": phase, "status": string("history[].status", &line["status"])? }));
        }
        let results = list("resultObjects", &task["resultObjects"])?.to_vec();
        for result in &results {
            map("resultObjects[]", result)?;
        }
        let mut shown = json!({
            "id": string("id", &task["id"])?,
            "status": { "completed": completed, "failed": failed, "retryable": retryable },
            "history": history,
            "resultObjects": results,
            "outputs": list("outputs", &task["outputs"])?,
        });
        if let Some(exception) = results.iter().find(|result| result["type"] == "EXCEPTION") {
            shown["exception"] = exception.clone();
        }
        Ok(Self { completed, failed, retryable, results, shown })
    }

    /// Puts it where it was before, or behind the tasks of other operations.
    fn remember(&self, stage: &mut Stage) -> Result<(), Exception> {
        let mut tasks = list("kato.tasks", stage.get("kato.tasks"))?.to_vec();
        match tasks.iter_mut().find(|task| task["id"] == self.shown["id"]) {
            Some(task) => *task = self.shown.clone(),
            None => tasks.push(self.shown.clone()),
        }
        stage.remember("kato.tasks", tasks);
        Ok(())
    }

    /// Deployed names by location, for tasks that wait for a job.
    fn derive_deployed(&self, stage: &mut Stage) -> Result<(), Exception> {
        let jobs = self.results.iter().filter_map(|result| present(result, "deployedNamesByLocation"));
        let mut jobs = jobs.filter(|jobs| jobs.as_object().is_none_or(|jobs| !jobs.is_empty()));
        if let Some(jobs) = jobs.next() {
            stage.remember("deploy.jobs", map("deployedNamesByLocation", jobs)?.clone());
        }
        stage.remember("deploy.server.groups", json!({}));
        Ok(())
    }
}
