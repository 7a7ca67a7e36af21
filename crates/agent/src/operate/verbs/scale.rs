//! `scale`: sets the number of replicas, by the `scale` subresource of any kind that has one.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{Call, Reply};
use spindrift_model::{DryRun, ErrorKind, FailedState, OperationError, Resource, Scale};

use super::{Answer, OperationContext, dry_run, failed, manifest_target::changed, parsed};
use crate::operate::errors;

/// Retries after conflicts with concurrent changes.
const ATTEMPTS: u32 = 5;

pub(super) async fn run(context: &OperationContext, scale: Scale) -> Result<Answer, OperationError> {
    let resource = context.resolve(scale.target.api_version.as_deref(), &scale.target.kind).await?;
    let reply = match write(context, &resource, &scale).await {
        Err(failure) if failure.state() == FailedState::Failed && failure.code == 404 => {
            return Err(missing(context, &resource, &scale).await.unwrap_or(failure));
        }
        written => written?,
    };
    let answer = changed(context, reply.code, "scaled", reply.body, &reply.warnings)?;
    Ok(Answer { body: with_target(&answer.body, &resource, &scale)?, ..answer })
}

async fn write(
    context: &OperationContext,
    resource: &Resource,
    scale: &Scale,
) -> Result<Reply, OperationError> {
    let is_conditional = scale.current_replicas.is_some() || scale.resource_version.is_some();
    if is_conditional || scale.dry_run == DryRun::Client {
        return update(context, resource, scale).await;
    }
    let patch = json!({ "spec": { "replicas": scale.replicas } });
    let call = dry_run(call(context, Method::PATCH, resource, scale), scale.dry_run)
        .body("application/merge-patch+json", patch.to_string());
    context.change(&call).await.map_err(|error| failed(&error, scale.dry_run))
}

/// Error of reading the object itself, if it does not exist: of a missing subresource, the API server reports less.
async fn missing(context: &OperationContext, resource: &Resource, scale: &Scale) -> Option<OperationError> {
    let namespace = context.namespace(resource, scale.target.namespace.as_deref());
    let object = Call::about(Method::GET, resource, namespace, Some(&scale.target.name));
    context.read(&object).await.err().map(|error| errors::of_read(&error))
}

/// Adds the workload to the answer, whose object is a `Scale`.
fn with_target(body: &[u8], resource: &Resource, scale: &Scale) -> Result<Bytes, OperationError> {
    let mut answer: Value = parsed(body)?;
    answer["target"] = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind, "name": scale.target.name,
    });
    Ok(answer.to_string().into())
}

/// Update under preconditions: reads, compares, and writes with the resource version.
async fn update(
    context: &OperationContext,
    resource: &Resource,
    scale: &Scale,
) -> Result<Reply, OperationError> {
    let get = call(context, Method::GET, resource, scale);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let reply = context.read(&get).await.map_err(|error| errors::of_read(&error))?;
        let mut current: Value = parsed(&reply.body)?;
        check(scale, &current)?;
        current["spec"]["replicas"] = scale.replicas.into();
        if scale.dry_run == DryRun::Client {
            return Ok(Reply { body: current.to_string().into(), ..reply });
        }
        context.go_on()?;
        let put = dry_run(call(context, Method::PUT, resource, scale), scale.dry_run)
            .body("application/json", current.to_string());
        match context.change(&put).await {
            Ok(reply) => return Ok(reply),
            Err(error) if error.status().is_some_and(|status| status.code == 409) && attempt < ATTEMPTS => {}
            Err(error) => return Err(failed(&error, scale.dry_run)),
        }
    }
}

fn call(context: &OperationContext, method: Method, resource: &Resource, scale: &Scale) -> Call {
    let namespace = context.namespace(resource, scale.target.namespace.as_deref());
    Call::about(method, resource, namespace, Some(&scale.target.name)).subresource("scale")
}

/// Checks the preconditions, in kubectl's words.
fn check(scale: &Scale, current: &Value) -> Result<(), OperationError> {
    let refused = |what, expected: &str, found: &str| {
        Err(OperationError::agent(
            ErrorKind::Conflict,
            format!("Expected {what} to be {expected}, was {found}"),
        ))
    };
    let replicas = current.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(0);
    if let Some(expected) = scale.current_replicas.filter(|expected| u64::from(*expected) != replicas) {
        return refused("replicas", &expected.to_string(), &replicas.to_string());
    }
    let version = current.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    if let Some(expected) = scale.resource_version.as_deref().filter(|expected| *expected != version) {
        return refused("resource version", expected, version);
    }
    Ok(())
}
