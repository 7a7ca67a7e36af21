//! history.

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    Call,
    rollout::{Revision, Workload, revisions, selector_text},
};
use spindrift_model::{ErrorKind, OperationError};

use super::{Answer, Job};

/// Revisions of a workload, or one of them.
pub(super) async fn history(job: &Job<'_>, wanted: Option<u64>) -> Result<Answer, OperationError> {
    let Some(workload) = job.workload else {
        let message =
            format!("no history viewer has been implemented for {:?}", job.resource.kind_and_group());
        return Err(OperationError::agent(ErrorKind::BadRequest, message));
    };
    let object = job.object().await?;
    let mut revisions = kept(job, workload, &object, Seen::ByOthers).await?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted > 0) {
        revisions.retain(|revision| u64::try_from(revision.number) == Ok(wanted));
        if revisions.is_empty() {
            return Err(OperationError::agent(ErrorKind::NotFound, "unable to find the specified revision"));
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

/// Destination of the revisions.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    /// Back to the cluster.
    ByUs,
    /// Out of the cluster, redacted.
    ByOthers,
}

/// All revisions of a workload in the cluster.
pub(super) async fn kept(
    job: &Job<'_>,
    workload: Workload,
    object: &Value,
    seen: Seen,
) -> Result<Vec<Revision>, OperationError> {
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
