//! Reads one object.

use http::Method;
use spindrift_kubernetes::{Call, scrub_result};
use spindrift_model::Get;
use tracing::info;

use super::{Answer, Failure, Hand};

pub(super) async fn run(hand: &Hand, get: Get) -> Result<Answer, Failure> {
    let Get { target, reveal, anywhere: _ } = get;
    let resource = hand.resolve(target.api_version.as_deref(), &target.kind).await?;
    let namespace = hand.namespace(&resource, target.namespace.as_deref());
    let call = Call::about(Method::GET, &resource, namespace, Some(&target.name));
    let reply = hand.read(&call).await.map_err(|error| Failure::of_read(&error))?;
    let is_secret = resource.group.is_empty() && &*resource.kind == "Secret";
    if reveal && is_secret {
        info!(operationId = %hand.operation, account = %hand.account.description.name,
            namespace = namespace.unwrap_or_default(), name = target.name, "the values of a Secret leave the cluster: they were asked for");
        return Ok(Answer { code: reply.code, body: reply.body });
    }
    let body = scrub_result(reply.body, hand.redactions())
        .map_err(|malformed| Failure::unreadable(&call, &malformed))?;
    Ok(Answer { code: reply.code, body })
}
