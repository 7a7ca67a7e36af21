//! history.

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    Call,
    rollout::{Revision, Workload, revisions, selector_text},
};

use super::{Answer, Failure, Job};

/// The revisions of a workload, or one of them.
pub(super) async fn history(job: &Job<'_>, wanted: Option<u64>) -> Result<Answer, Failure> {
    let Some(workload) = job.workload else {
        let message =
            format!("no history viewer has been implemented for {:?}", job.resource.kind_and_group());
        return Err(Failure::ours(400, "BadRequest", message));
    };
    let object = job.object().await?;
    let mut revisions = kept(job, workload, &object, Seen::ByOthers).await?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted > 0) {
        revisions.retain(|revision| u64::try_from(revision.number) == Ok(wanted));
        if revisions.is_empty() {
            return Err(Failure::ours(404, "NotFound", "unable to find the specified revision"));
        }
    }
    let revisions: Vec<_> = revisions
        .into_iter()
        .map(|Revision { number, change_cause, template, .. }| {
            json!({ "revision": number, "changeCause": change_cause, "template": template })
        })
        .collect();
    Ok(Answer::document(200, &json!({ "revisions": revisions })))
}

/// Who sees the revisions.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    /// They go back to where they came from.
    ByUs,
    /// They leave the cluster, without what may not.
    ByOthers,
}

/// All revisions that the cluster keeps of a workload.
pub(super) async fn kept(
    job: &Job<'_>,
    workload: Workload,
    object: &Value,
    seen: Seen,
) -> Result<Vec<Revision>, Failure> {
    let selector = object.pointer("/spec/selector").and_then(selector_text);
    let call = Call::about(Method::GET, &workload.kept_in(), job.namespace, None)
        .query("labelSelector", selector.as_deref().unwrap_or_default());
    let mut list = match seen {
        Seen::ByUs => job.read(&call).await?,
        Seen::ByOthers => job.read_scrubbed(&call).await?,
    };
    let Some(Value::Array(found)) = list.get_mut("items").map(Value::take) else { return Ok(Vec::new()) };
    Ok(revisions(workload, object, found))
}
