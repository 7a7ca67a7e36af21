//! Deletes and creates an object that cannot be changed in place.

use spindrift_model::{ErrorKind, FailedState, OperationError};
use std::time::Duration;

use http::Method;
use serde_json::json;
use spindrift_kubernetes::{ApiError, Object, Reply};

use super::manifest_target::{Live, ManifestTarget, Writing, metadata_text, pause};

/// Pause between two checks of a deletion.
const PAUSE: Duration = Duration::from_millis(500);

/// Deletes an object, waits until it is gone, and creates the new one. If that fails, the former is created again, and the
/// error returned.
pub(super) async fn recreate(
    target: &ManifestTarget<'_>,
    name: &str,
    former: Option<Live>,
    object: Object,
    writing: &Writing,
) -> Result<Reply, OperationError> {
    if let Some(former) = &former {
        delete(target, name, &former.object, writing).await?;
    }
    let error = match target.create(object, writing).await {
        Ok(reply) => return Ok(reply),
        Err(error) => error,
    };
    let Some(former) = former.filter(|_| matches!(error, ApiError::Refused { .. })) else {
        return Err(writing.failure(&error));
    };
    match target.create(former.object, writing).await {
        Ok(_) => Err(writing.failure(&error)),
        Err(lost) => Err(OperationError::agent(
            ErrorKind::Internal,
            format!(
                "{target} was deleted and could not be created: {}; nor could the former one be restored: {}",
                message(&error),
                message(&lost)
            ),
        )),
    }
}

/// Deletes exactly this object, and waits until it is gone.
async fn delete(
    target: &ManifestTarget<'_>,
    name: &str,
    object: &Object,
    writing: &Writing,
) -> Result<(), OperationError> {
    let uid = metadata_text(object, "uid");
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        "preconditions": { "uid": uid },
    });
    let call = target.call(Method::DELETE, Some(name)).body("application/json", options.to_string());
    match target.context.change_guarded(&call).await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(writing.failure(&error)),
    }
    loop {
        let live = target.live(name).await;
        match live {
            Ok(Some(live)) if metadata_text(&live.object, "uid") == uid => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(half_done(target, &error)),
        }
        pause(target.context, PAUSE).await.map_err(|error| half_done(target, &error))?;
    }
}

/// The deletion has begun: an error that means "nothing was changed" would be wrong.
fn half_done(target: &ManifestTarget<'_>, error: &OperationError) -> OperationError {
    let why = match error.state() {
        FailedState::Failed | FailedState::Unknown => error.message(),
        FailedState::Cancelled => "cancelled".to_owned(),
        FailedState::Expired => "deadline exceeded".to_owned(),
    };
    OperationError::unknown(format!("{target} is being deleted and was not created again: {why}"))
}

fn message(error: &ApiError) -> String {
    error.status().map_or_else(|| spindrift_process::report(error), |status| status.message.clone())
}
