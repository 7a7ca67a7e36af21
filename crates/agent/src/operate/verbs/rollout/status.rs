//! status: a line for each step of the rollout.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    ApiError, Call, Event, EventSplitter, ScrubRules, View,
    rollout::{Progress, Workload, progress},
};
use spindrift_model::{Content, ErrorKind, OperationError};
use tokio::time::Instant;

use super::{super::manifest_target::pause, Answer, AnswerSink, Job, parsed};
use crate::operate::errors;

/// Pause between two watches.
const AGAIN: Duration = Duration::from_millis(500);

/// Reports the progress of a rollout; follows it until it is complete, if requested.
pub(super) async fn status(
    job: &Job<'_>,
    follow: bool,
    sink: &impl AnswerSink,
) -> Result<Answer, OperationError> {
    let Some(workload) = job.workload else {
        let message =
            format!("no status viewer has been implemented for {:?}", job.resource.kind_and_group());
        return Err(OperationError::agent(ErrorKind::BadRequest, message));
    };
    sink.begin(Content::JsonLines);
    let mut last = String::new();
    loop {
        let object = job.object().await?;
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let is_done = tell(workload, &object, &mut last, sink).await?;
        if is_done || !follow || watch(job, workload, version, &mut last, sink).await? {
            return Ok(Answer::sent(200));
        }
        // A proxy may end every watch at once.
        pause(job.context, AGAIN).await?;
    }
}

/// Sends a line if there is news; returns whether the rollout is complete.
async fn tell(
    workload: Workload,
    object: &Value,
    last: &mut String,
    sink: &impl AnswerSink,
) -> Result<bool, OperationError> {
    let Progress { message, done } =
        progress(workload, object).map_err(|why| OperationError::agent(ErrorKind::Conflict, why))?;
    if message != *last {
        let line = format!("{}\n", json!({ "message": message, "done": done }));
        sink.send(line.into()).await.map_err(|_| OperationError::cancelled())?;
        *last = message;
    }
    Ok(done)
}

/// Watches the workload until the rollout is complete, or until the watch ends: then false.
async fn watch(
    job: &Job<'_>,
    workload: Workload,
    version: &str,
    last: &mut String,
    sink: &impl AnswerSink,
) -> Result<bool, OperationError> {
    let context = job.context;
    let call = Call::about(Method::GET, &job.resource, job.namespace, None)
        .query("watch", "true")
        .query("fieldSelector", &format!("metadata.name={}", job.name))
        .query("resourceVersion", version);
    let failed = |error: &ApiError| errors::of_read(error);
    context.metrics.kubernetes_requests.inc();
    let mut pieces = match context.api().pieces(&call, context.deadline).await {
        Ok(pieces) => pieces,
        Err(error) if error.is_gone() => return Ok(false),
        Err(error) => return Err(failed(&error)),
    };
    let mut events = EventSplitter::new(ScrubRules::new(&job.resource, View::Full, context.redactions()));
    loop {
        while let Some(event) = events.next_event() {
            match event {
                Event::Object(object) => {
                    if tell(workload, &parsed(&object.body)?, last, sink).await? {
                        return Ok(true);
                    }
                }
                Event::Deleted(_) => {
                    return Err(OperationError::agent(ErrorKind::NotFound, "object has been deleted"));
                }
                Event::Bookmark { .. } => {}
                Event::Error(_) | Event::Unparseable { .. } => return Ok(false),
            }
        }
        let patience = context.deadline.saturating_duration_since(Instant::now());
        match pieces.next(patience).await {
            Ok(Some(piece)) => events.push(piece),
            // The watch is opened again, until the deadline.
            Ok(None) | Err(ApiError::Read { .. }) => return Ok(false),
            Err(error) => return Err(failed(&error)),
        }
    }
}
