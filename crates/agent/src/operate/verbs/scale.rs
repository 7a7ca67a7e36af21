//! Sets the number of replicas, by the `scale` subresource: of every kind that has one.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use spindrift_kubernetes::{Call, Reply};
use spindrift_model::{DryRun, Resource, Scale};

use super::{Answer, Failure, Hand, dry_run, failed, parsed, place::changed};

/// How often a change in between is borne.
const ATTEMPTS: u32 = 5;

pub(super) async fn run(hand: &Hand, scale: Scale) -> Result<Answer, Failure> {
    let resource = hand.resolve(scale.target.api_version.as_deref(), &scale.target.kind).await?;
    let reply = match write(hand, &resource, &scale).await {
        Err(failure) if matches!(failure, Failure::Refused { code: 404, .. }) => {
            return Err(missing(hand, &resource, &scale).await.unwrap_or(failure));
        }
        written => written?,
    };
    let answer = changed(hand, reply.code, "scaled", reply.body, &reply.warnings)?;
    Ok(Answer { body: with_target(&answer.body, &resource, &scale)?, ..answer })
}

async fn write(hand: &Hand, resource: &Resource, scale: &Scale) -> Result<Reply, Failure> {
    let is_conditional = scale.current_replicas.is_some() || scale.resource_version.is_some();
    if is_conditional || scale.dry_run == DryRun::Client {
        return update(hand, resource, scale).await;
    }
    let patch = json!({ "spec": { "replicas": scale.replicas } });
    let call = dry_run(call(hand, Method::PATCH, resource, scale), scale.dry_run)
        .body("application/merge-patch+json", patch.to_string());
    hand.change(&call).await.map_err(|error| failed(&error, scale.dry_run))
}

/// What the API server says of the object itself, if it is not there: of a kind that cannot be scaled, it would only say
/// that.
async fn missing(hand: &Hand, resource: &Resource, scale: &Scale) -> Option<Failure> {
    let namespace = hand.namespace(resource, scale.target.namespace.as_deref());
    let object = Call::about(Method::GET, resource, namespace, Some(&scale.target.name));
    hand.read(&object).await.err().map(|error| Failure::of_read(&error))
}

/// The object of the answer is a `Scale`; of what, stands beside it.
fn with_target(body: &[u8], resource: &Resource, scale: &Scale) -> Result<Bytes, Failure> {
    let mut answer: Value = parsed(body)?;
    answer["target"] = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind, "name": scale.target.name,
    });
    Ok(answer.to_string().into())
}

/// Only if it is what it is thought to be: read, compared, and written back with its version.
async fn update(hand: &Hand, resource: &Resource, scale: &Scale) -> Result<Reply, Failure> {
    let get = call(hand, Method::GET, resource, scale);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let reply = hand.read(&get).await.map_err(|error| Failure::of_read(&error))?;
        let mut current: Value = parsed(&reply.body)?;
        check(scale, &current)?;
        current["spec"]["replicas"] = scale.replicas.into();
        if scale.dry_run == DryRun::Client {
            return Ok(Reply { body: current.to_string().into(), ..reply });
        }
        hand.go_on()?;
        let put = dry_run(call(hand, Method::PUT, resource, scale), scale.dry_run)
            .body("application/json", current.to_string());
        match hand.change(&put).await {
            Ok(reply) => return Ok(reply),
            Err(error) if error.status().is_some_and(|status| status.code == 409) && attempt < ATTEMPTS => {}
            Err(error) => return Err(failed(&error, scale.dry_run)),
        }
    }
}

fn call(hand: &Hand, method: Method, resource: &Resource, scale: &Scale) -> Call {
    let namespace = hand.namespace(resource, scale.target.namespace.as_deref());
    Call::about(method, resource, namespace, Some(&scale.target.name)).subresource("scale")
}

/// In kubectl's words.
fn check(scale: &Scale, current: &Value) -> Result<(), Failure> {
    let refused = |what, expected: &str, found: &str| {
        Err(Failure::ours(409, "Conflict", format!("Expected {what} to be {expected}, was {found}")))
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
