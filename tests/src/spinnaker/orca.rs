//! A player of Orca: it runs stages to their end, task by task, by Clouddriver's answers alone.
//!
//! ```text
//! StageSpec ──▶ graph: which tasks ──▶ task, again and again while it is RUNNING ──▶ SUCCEEDED, next task
//!                                        │ TERMINAL, or an exception                     │ all of them
//!                                        ▼                                               ▼
//!                                   stage and execution end                   rollout: stages that follow
//! ```
//!
//! Written from the requests and decisions of a real Orca. It sends the same requests with the same headers, and where
//! Orca casts, it casts: a `ClassCastException` there ends the stage here, too. Only the waits are shorter, see
//! [`Pace`].

mod clouddriver;
mod exception;
mod execution;
mod graph;
mod pace;
mod rollout;
mod task;

use serde_json::Value;
use tokio::time::Instant;

pub use clouddriver::Call;
use clouddriver::{Clouddriver, Place};
pub use exception::Exception;
pub use execution::{Execution, Stage, StageSpec, Status};
pub use pace::Pace;
use task::{Progress, Task};

/// An Orca with one Clouddriver.
pub struct Orca {
    url: String,
    application: String,
    pace: Pace,
}

/// Context of a running task.
struct Shift<'a> {
    clouddriver: &'a Clouddriver,
    pace: &'a Pace,
    place: Place,
}

// === impl Orca ===

impl Orca {
    /// For executions of an application; `url` is Clouddriver's, without a trailing slash.
    pub fn new(url: impl Into<String>, application: impl Into<String>, pace: Pace) -> Self {
        Self { url: url.into(), application: application.into(), pace }
    }

    /// Runs stages one after the other, until all have succeeded or one has failed.
    pub async fn run(&self, stages: impl IntoIterator<Item = StageSpec>) -> Execution {
        let clouddriver = Clouddriver::new(&self.url, &self.application);
        let mut execution = Execution::new(&self.application);
        for (index, spec) in stages.into_iter().enumerate() {
            let mut stage = Stage::new(spec, index.to_string());
            Box::pin(self.run_stage(&clouddriver, &execution.id, &mut stage)).await;
            let followers = self.followers(&clouddriver, &execution.id, &mut stage).await;
            execution.stages.push(stage);
            for (number, spec) in followers.into_iter().enumerate() {
                let mut stage = Stage::after(spec, format!("{index}>{}", number + 1));
                Box::pin(self.run_stage(&clouddriver, &execution.id, &mut stage)).await;
                execution.stages.push(stage);
                if execution.has_failed() {
                    break;
                }
            }
            if execution.has_failed() {
                break;
            }
        }
        execution.finish(clouddriver.into_calls());
        execution
    }

    /// The stages that a rollout strategy puts after one that has succeeded.
    async fn followers(
        &self,
        clouddriver: &Clouddriver,
        execution: &str,
        stage: &mut Stage,
    ) -> Vec<StageSpec> {
        if stage.status != Status::Succeeded {
            return Vec::new();
        }
        let place = Place::of_stage(execution, &stage.id);
        let shift = Shift { clouddriver, pace: &self.pace, place };
        match rollout::after(&shift, stage).await {
            Ok(stages) => stages,
            Err(exception) => {
                let kind = stage.kind.clone();
                stage.fail(&kind, &exception);
                Vec::new()
            }
        }
    }

    async fn run_stage(&self, clouddriver: &Clouddriver, execution: &str, stage: &mut Stage) {
        for (index, (name, task)) in graph::tasks(stage).into_iter().enumerate() {
            if stage.status != Status::Running {
                stage.tasks.push((name, Status::NotStarted));
                continue;
            }
            let place = Place::of_task(execution, &stage.id, index + 1);
            let shift = Shift { clouddriver, pace: &self.pace, place };
            let status = self.run_task(&shift, stage, name, task).await;
            stage.tasks.push((name, status));
            if status == Status::Terminal {
                stage.status = Status::Terminal;
            }
        }
        if stage.status == Status::Running {
            stage.status = Status::Succeeded;
        }
    }

    /// Runs a task again and again, as Orca's queue does.
    async fn run_task(&self, shift: &Shift<'_>, stage: &mut Stage, name: &str, task: Task) -> Status {
        let deadline = Instant::now() + task.timeout(&self.pace, stage);
        loop {
            match task.run(shift, stage).await {
                Ok(Progress::Succeeded) => return Status::Succeeded,
                Ok(Progress::Terminal) => return Status::Terminal,
                Ok(Progress::Running) if Instant::now() < deadline => {
                    tokio::time::sleep(task.back_off(&self.pace)).await;
                }
                Ok(Progress::Running) => {
                    stage.fail(name, &Exception::timeout(name));
                    return Status::Terminal;
                }
                Err(exception) => {
                    stage.fail(name, &exception);
                    return Status::Terminal;
                }
            }
        }
    }
}

/// The value under a key, if it is there and not null.
fn present<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}
