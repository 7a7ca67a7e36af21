//! Waits until deleted objects are gone.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::Value;
use spindrift_kubernetes::Call;
use spindrift_model::{ErrorKind, OperationError, Resource};
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::{AT_ONCE, Deleted};
use crate::operate::OperationContext;

/// Most objects are gone at once, and some take half a minute: checked soon, then rarely.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

pub(super) async fn wait_until_gone(
    context: &OperationContext,
    resource: &Resource,
    deleted: &[Deleted],
) -> Result<(), OperationError> {
    let waiting: Vec<_> = deleted.iter().map(|one| wait_for(context, resource, one)).collect();
    stream::iter(waiting).buffer_unordered(AT_ONCE).try_collect().await
}

async fn wait_for(
    context: &OperationContext,
    resource: &Resource,
    deleted: &Deleted,
) -> Result<(), OperationError> {
    let Deleted { namespace, name, uid } = deleted;
    let call = Call::about(Method::GET, resource, namespace.as_deref(), Some(name)).accept(METADATA);
    let until = context.waits_until();
    let mut pause = FIRST_LOOK;
    loop {
        match context.read(&call).await {
            Ok(reply) if is_another(&reply.body, uid.as_deref()) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.is_not_found() => return Ok(()),
            // As kubectl: without permission to read it, it does not wait.
            Err(error) if error.status().is_some_and(|status| matches!(status.code, 403 | 405)) => {
                return Ok(());
            }
            Err(error) => {
                debug!(operationId = %context.operation, %error, "the deleted object could not be read, retrying");
            }
        }
        let is_cancelled = context.cancelled.is_cancelled();
        if is_cancelled || Instant::now() + pause >= until {
            let why = if is_cancelled { "the operation was cancelled" } else { "deadline exceeded" };
            let message = format!(
                "timed out waiting for the condition on {}/{name}: it is being deleted and still exists; {why}",
                resource.plural
            );
            return Err(OperationError::agent(ErrorKind::Timeout, message));
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = context.cancelled.cancelled() => {}
        }
        pause = (pause * 2).min(LAST_LOOK);
    }
}

/// Whether the object of this name is not the one that was deleted.
fn is_another(object: &[u8], uid: Option<&str>) -> bool {
    let object: Option<Value> = serde_json::from_slice(object).ok();
    let found = object.as_ref().and_then(|object| object.pointer("/metadata/uid")?.as_str());
    matches!((found, uid), (Some(found), Some(uid)) if found != uid)
}
