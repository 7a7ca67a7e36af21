//! Until what was told to go is gone.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::Value;
use spindrift_kubernetes::Call;
use spindrift_model::Resource;
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::{AT_ONCE, Deleted};
use crate::operate::{Failure, Hand};

/// Most are gone at once, and some take half a minute to end: looked at soon, then rarely.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

pub(super) async fn wait_until_gone(
    hand: &Hand,
    resource: &Resource,
    deleted: &[Deleted],
) -> Result<(), Failure> {
    let waiting: Vec<_> = deleted.iter().map(|one| wait_for(hand, resource, one)).collect();
    stream::iter(waiting).buffer_unordered(AT_ONCE).try_collect().await
}

async fn wait_for(hand: &Hand, resource: &Resource, deleted: &Deleted) -> Result<(), Failure> {
    let Deleted { namespace, name, uid } = deleted;
    let call = Call::about(Method::GET, resource, namespace.as_deref(), Some(name)).accept(METADATA);
    let until = hand.waits_until();
    let mut pause = FIRST_LOOK;
    loop {
        match hand.read(&call).await {
            Ok(reply) if is_another(&reply.body, uid.as_deref()) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.is_not_found() => return Ok(()),
            // As kubectl: whoever may not look does not wait.
            Err(error) if error.status().is_some_and(|status| matches!(status.code, 403 | 405)) => {
                return Ok(());
            }
            Err(error) => {
                debug!(operationId = %hand.operation, %error, "whether it is gone cannot be told yet");
            }
        }
        let is_called_off = hand.cancelled.is_cancelled();
        if is_called_off || Instant::now() + pause >= until {
            let why = if is_called_off { "the operation was called off" } else { "the time is over" };
            let message = format!(
                "timed out waiting for the condition on {}/{name}: it was told to go and is still there; {why}",
                resource.plural
            );
            return Err(Failure::ours(504, "Timeout", message));
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = hand.cancelled.cancelled() => {}
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
