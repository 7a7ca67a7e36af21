//! status: a line for each step, as the workload is seen to take it.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    ApiError, Call, Event, EventSplitter, ScrubRules, View,
    rollout::{Progress, Workload, progress},
};
use spindrift_model::Content;
use tokio::time::Instant;

use super::{super::place::pause, Answer, AnswerSink, Failure, Job, parsed};

/// Between two watches.
const AGAIN: Duration = Duration::from_millis(500);

/// Tells how far a rollout is; and goes on until it is done, if that is asked for.
pub(super) async fn status(job: &Job<'_>, follow: bool, sink: &impl AnswerSink) -> Result<Answer, Failure> {
    let Some(workload) = job.workload else {
        let message =
            format!("no status viewer has been implemented for {:?}", job.resource.kind_and_group());
        return Err(Failure::ours(400, "BadRequest", message));
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
        // Something on the way may end every watch at once.
        pause(job.hand, AGAIN).await?;
    }
}

/// Tells what is new; gives whether it was the last word.
async fn tell(
    workload: Workload,
    object: &Value,
    last: &mut String,
    sink: &impl AnswerSink,
) -> Result<bool, Failure> {
    let Progress { message, done } =
        progress(workload, object).map_err(|why| Failure::ours(409, "Conflict", why))?;
    if message != *last {
        let line = format!("{}\n", json!({ "message": message, "done": done }));
        sink.send(line.into()).await.map_err(|_| Failure::Cancelled)?;
        *last = message;
    }
    Ok(done)
}

/// Follows the workload until the rollout is done, or until the watch ends by itself: then false.
async fn watch(
    job: &Job<'_>,
    workload: Workload,
    version: &str,
    last: &mut String,
    sink: &impl AnswerSink,
) -> Result<bool, Failure> {
    let hand = job.hand;
    let call = Call::about(Method::GET, &job.resource, job.namespace, None)
        .query("watch", "true")
        .query("fieldSelector", &format!("metadata.name={}", job.name))
        .query("resourceVersion", version);
    let failed = |error: &ApiError| Failure::of_read(error);
    hand.metrics.kubernetes_requests.inc();
    let mut pieces = match hand.api().pieces(&call, hand.deadline).await {
        Ok(pieces) => pieces,
        Err(error) if error.is_gone() => return Ok(false),
        Err(error) => return Err(failed(&error)),
    };
    let mut events = EventSplitter::new(ScrubRules::new(&job.resource, View::Full, hand.redactions()));
    loop {
        while let Some(event) = events.next_event() {
            match event {
                Event::Object(object) => {
                    if tell(workload, &parsed(&object.body)?, last, sink).await? {
                        return Ok(true);
                    }
                }
                Event::Deleted(_) => {
                    return Err(Failure::ours(404, "NotFound", "object has been deleted"));
                }
                Event::Bookmark { .. } => {}
                Event::Error(_) | Event::Unparseable { .. } => return Ok(false),
            }
        }
        let patience = hand.deadline.saturating_duration_since(Instant::now());
        match pieces.next(patience).await {
            Ok(Some(piece)) => events.push(piece),
            // It is asked for again, as long as there is time.
            Ok(None) | Err(ApiError::Read { .. }) => return Ok(false),
            Err(error) => return Err(failed(&error)),
        }
    }
}
