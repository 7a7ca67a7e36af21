//! `delete`: deletes an object, or all that match a selector, and waits until they are gone.

mod gone;

use futures::{StreamExt, stream};
use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{
    Delete, DryRun, ErrorKind, FailedState, OperationError, Preconditions, Propagation, Resource,
};

use self::gone::wait_until_gone;
use super::{Answer, OperationContext, failed, list::Listing};

/// Objects of a selector that are deleted at once.
const AT_ONCE: usize = 8;

/// Object whose deletion has begun.
#[derive(Debug, Clone)]
struct Deleted {
    namespace: Option<String>,
    name: String,
    uid: Option<String>,
}

pub(super) async fn run(context: &OperationContext, delete: Delete) -> Result<Answer, OperationError> {
    let resource = context.resolve(delete.api_version.as_deref(), &delete.kind).await?;
    let is_given = |selector: &Option<String>| selector.as_ref().is_some_and(|text| !text.is_empty());
    let by_selector = is_given(&delete.label_selector) || is_given(&delete.field_selector);
    let deleted = match delete.name.as_deref().filter(|name| !name.is_empty()) {
        Some(_) if by_selector => {
            return Err(OperationError::agent(
                ErrorKind::BadRequest,
                "name cannot be provided when a selector is specified",
            ));
        }
        Some(name) => delete_named(context, &resource, &delete, name).await?.into_iter().collect(),
        None if by_selector => delete_selected(context, &resource, &delete).await?,
        None => {
            let message = "resource(s) were provided, but no name was specified; expected name, labelSelector or fieldSelector";
            return Err(OperationError::agent(ErrorKind::BadRequest, message));
        }
    };
    if delete.wait && delete.dry_run == DryRun::None {
        wait_until_gone(context, &resource, &deleted).await?;
    }
    let api_version = resource.api_version();
    let deleted: Vec<_> = deleted
        .iter()
        .map(|Deleted { namespace, name, uid }| {
            json!({
                "apiVersion": api_version, "kind": &*resource.kind,
                "namespace": namespace, "name": name, "uid": uid,
            })
        })
        .collect();
    Ok(Answer::document(200, &json!({ "deleted": deleted })))
}

async fn delete_named(
    context: &OperationContext,
    resource: &Resource,
    delete: &Delete,
    name: &str,
) -> Result<Option<Deleted>, OperationError> {
    let namespace = context.namespace(resource, delete.namespace.as_deref());
    let target = Deleted { namespace: namespace.map(Into::into), name: name.into(), uid: None };
    match delete_one(context, resource, delete, target, &delete.preconditions).await {
        Ok(deleted) => Ok(Some(deleted)),
        Err(error) if error.is_not_found() && delete.ignore_not_found => Ok(None),
        Err(error) => Err(failed(&error, delete.dry_run)),
    }
}

async fn delete_selected(
    context: &OperationContext,
    resource: &Resource,
    delete: &Delete,
) -> Result<Vec<Deleted>, OperationError> {
    let mut listing = Listing {
        context,
        resource,
        namespace: delete.namespace.as_deref(),
        label_selector: delete.label_selector.as_deref(),
        field_selector: delete.field_selector.as_deref(),
    }
    .begin();
    let mut found = Vec::new();
    while let Some(object) = listing.next().await? {
        let namespace = resource.namespaced.then(|| object.namespace.to_string());
        let uid = Some(object.uid.to_string());
        found.push(Deleted { namespace, name: object.name.to_string(), uid });
    }
    let deleting: Vec<_> =
        found.into_iter().map(|target| delete_found(context, resource, delete, target)).collect();
    settled(stream::iter(deleting).buffered(AT_ONCE).collect().await)
}

/// As kubectl: an object that cannot be deleted does not prevent the deletion of the others. Of several errors, the one
/// with the least certain outcome is returned, and the first of those.
fn settled(tried: Vec<Result<Option<Deleted>, OperationError>>) -> Result<Vec<Deleted>, OperationError> {
    let count = tried.len();
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for one in tried {
        match one {
            Ok(one) => deleted.extend(one),
            Err(error) => errors.push(error),
        }
    }
    let rank = |error: &OperationError| match error.state() {
        FailedState::Unknown => 0,
        FailedState::Failed => 1,
        FailedState::Cancelled | FailedState::Expired => 2,
    };
    let Some(error) = errors.into_iter().min_by_key(rank) else { return Ok(deleted) };
    // An operation that stops half-way has changed something.
    let half_way = |code, reason, why| {
        let names: Vec<_> = deleted.iter().map(|one| &*one.name).collect();
        let message =
            format!("{why} after {} of {count} had been deleted: {}", names.len(), names.join(", "));
        OperationError::agent_with(ErrorKind::PartlyDone, code, reason, message)
    };
    Err(match error.state() {
        FailedState::Cancelled if !deleted.is_empty() => {
            half_way(409, "Cancelled", "the operation was cancelled")
        }
        FailedState::Expired if !deleted.is_empty() => half_way(504, "Timeout", "deadline exceeded"),
        _ => error,
    })
}

/// Deletes exactly the object that was found, so that the call may be repeated; none if it is gone already.
async fn delete_found(
    context: &OperationContext,
    resource: &Resource,
    delete: &Delete,
    target: Deleted,
) -> Result<Option<Deleted>, OperationError> {
    context.go_on()?;
    let preconditions = Preconditions { uid: target.uid.clone(), ..delete.preconditions.clone() };
    match delete_one(context, resource, delete, target, &preconditions).await {
        Ok(deleted) => Ok(Some(deleted)),
        Err(error) if is_gone_already(&error) => Ok(None),
        Err(error) => Err(failed(&error, delete.dry_run)),
    }
}

async fn delete_one(
    context: &OperationContext,
    resource: &Resource,
    delete: &Delete,
    target: Deleted,
    preconditions: &Preconditions,
) -> Result<Deleted, ApiError> {
    let Deleted { namespace, name, .. } = &target;
    if delete.dry_run == DryRun::Client {
        let call = Call::about(Method::GET, resource, namespace.as_deref(), Some(name));
        let reply = context.read(&call).await?;
        return Ok(Deleted { uid: uid_in(&reply.body), ..target });
    }
    let call = Call::about(Method::DELETE, resource, namespace.as_deref(), Some(name))
        .body("application/json", options(delete, preconditions).to_string());
    let uid = if *preconditions == Preconditions::default() {
        uid_in(&context.change(&call).await?.body)
    } else {
        guarded(context, &call, preconditions).await?
    };
    Ok(Deleted { uid: uid.or(target.uid.clone()), ..target })
}

/// Deletes exactly this object, and repeats the call if no answer comes: if it is gone by then, the first call did it.
async fn guarded(
    context: &OperationContext,
    call: &Call,
    preconditions: &Preconditions,
) -> Result<Option<String>, ApiError> {
    let mut attempts = context.attempts();
    let mut unanswered: Option<ApiError> = None;
    loop {
        let error = match context.change(call).await {
            Ok(reply) => return Ok(uid_in(&reply.body)),
            Err(error) => error,
        };
        let is_another = error.status().is_some_and(|status| status.code == 409);
        if unanswered.is_some() && (error.is_not_found() || is_another && preconditions.uid.is_some()) {
            return Ok(preconditions.uid.clone());
        }
        if !attempts.again(&error).await {
            // A call without an answer may have been executed, whichever answer follows.
            return Err(unanswered.unwrap_or(error));
        }
        if error.status().is_none() {
            unanswered.get_or_insert(error);
        }
    }
}

/// Options as kubectl sends them: background deletion by default, and no grace period of 0 unless forced.
fn options(delete: &Delete, preconditions: &Preconditions) -> Value {
    let policy = match delete.propagation_policy {
        None | Some(Propagation::Background) => "Background",
        Some(Propagation::Foreground) => "Foreground",
        Some(Propagation::Orphan) => "Orphan",
    };
    let mut options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy });
    let grace = match (delete.grace_period_seconds, delete.force) {
        (Some(0), false) => Some(1),
        (None, true) => Some(0),
        (grace, _) => grace,
    };
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    if *preconditions != Preconditions::default() {
        options["preconditions"] = json!(preconditions);
    }
    if delete.dry_run == DryRun::Server {
        options["dryRun"] = json!(["All"]);
    }
    options
}

/// Whether the object is gone; another object of the same name counts as gone.
fn is_gone_already(error: &ApiError) -> bool {
    error.is_not_found() || error.status().is_some_and(|status| status.code == 409)
}

/// Uid in the answer: an object that is being deleted, or the status of one that is gone.
fn uid_in(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let uid = answer.pointer("/metadata/uid").or_else(|| answer.pointer("/details/uid"))?;
    uid.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(delete: &Value) -> Value {
        let mut request = json!({ "kind": "Pod", "name": "web" });
        request.as_object_mut().unwrap().extend(delete.as_object().unwrap().clone());
        let delete: Delete = serde_json::from_value(request).unwrap();
        options(&delete, &delete.preconditions)
    }

    #[test]
    fn options_are_those_of_kubectl() {
        assert_eq!(asked(&json!({}))["propagationPolicy"], "Background");
        assert_eq!(asked(&json!({}))["gracePeriodSeconds"], Value::Null);
        assert_eq!(asked(&json!({"gracePeriodSeconds": 0}))["gracePeriodSeconds"], 1);
        assert_eq!(asked(&json!({"gracePeriodSeconds": 0, "force": true}))["gracePeriodSeconds"], 0);
        assert_eq!(asked(&json!({"force": true}))["gracePeriodSeconds"], 0);
        assert_eq!(asked(&json!({"propagationPolicy": "orphan"}))["propagationPolicy"], "Orphan");
        assert_eq!(asked(&json!({"dryRun": "server"}))["dryRun"], json!(["All"]));
        assert_eq!(asked(&json!({"preconditions": {"uid": "u"}}))["preconditions"], json!({"uid": "u"}));
    }
}
