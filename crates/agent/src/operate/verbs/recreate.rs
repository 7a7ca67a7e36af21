//! Deletes and creates what cannot be changed in place.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{ApiError, Object, Reply};

use super::{
    super::Failure,
    place::{Live, Place, Writing, metadata_text, pause},
};

/// Between two looks at what is being deleted.
const PAUSE: Duration = Duration::from_millis(500);

/// Deletes an object, waits until it is gone, and creates another in its place. If that fails, the former is created
/// again, and the failure told.
pub(super) async fn recreate(
    place: &Place<'_>,
    name: &str,
    former: Option<Live>,
    object: Object,
    writing: &Writing,
) -> Result<Reply, Failure> {
    if let Some(former) = &former {
        delete(place, name, &former.object, writing).await?;
    }
    let error = match place.create(object, writing).await {
        Ok(reply) => return Ok(reply),
        Err(error) => error,
    };
    let Some(former) = former.filter(|_| matches!(error, ApiError::Refused { .. })) else {
        return Err(writing.failure(&error));
    };
    match place.create(former.object, writing).await {
        Ok(_) => Err(writing.failure(&error)),
        Err(lost) => Err(Failure::ours(
            500,
            "InternalError",
            format!(
                "{place} was deleted and could not be created: {}; nor could the former one be restored: {}",
                message(&error),
                message(&lost)
            ),
        )),
    }
}

/// Deletes exactly this object, and waits until it is gone.
async fn delete(place: &Place<'_>, name: &str, object: &Object, writing: &Writing) -> Result<(), Failure> {
    let uid = metadata_text(object, "uid");
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        "preconditions": { "uid": uid },
    });
    let call = place.call(Method::DELETE, Some(name)).body("application/json", options.to_string());
    match place.hand.change_guarded(&call).await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(writing.failure(&error)),
    }
    loop {
        let live = place.live(name).await;
        match live {
            Ok(Some(live)) if metadata_text(&live.object, "uid") == uid => {}
            Ok(_) => return Ok(()),
            Err(failure) => return Err(half_done(place, &failure)),
        }
        pause(place.hand, PAUSE).await.map_err(|failure| half_done(place, &failure))?;
    }
}

/// It is being deleted, so that nobody can say that nothing was changed.
fn half_done(place: &Place<'_>, failure: &Failure) -> Failure {
    let why = match failure {
        Failure::Refused { status, .. } => {
            let status: Value = serde_json::from_slice(status).unwrap_or_default();
            status["message"].as_str().unwrap_or("it could not be seen whether it is gone").to_owned()
        }
        Failure::Unknown(reason) => reason.clone(),
        Failure::Cancelled => "it was cancelled".to_owned(),
        Failure::Expired => "the time was over".to_owned(),
    };
    Failure::Unknown(format!("{place} was told to go and was not created anew: {why}"))
}

fn message(error: &ApiError) -> String {
    error.status().map_or_else(|| spindrift_process::report(error), |status| status.message.clone())
}
