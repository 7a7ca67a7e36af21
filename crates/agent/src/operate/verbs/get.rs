//! `get`: reads one object.

use http::Method;
use spindrift_kubernetes::{Call, scrub_result};
use spindrift_model::{ErrorKind, Get, OperationError};
use tracing::info;

use super::{Answer, OperationContext};
use crate::operate::errors;

pub(super) async fn run(context: &OperationContext, get: Get) -> Result<Answer, OperationError> {
    let Get { target, reveal, anywhere: _ } = get;
    let resource = context.resolve(target.api_version.as_deref(), &target.kind).await?;
    let namespace = context.namespace(&resource, target.namespace.as_deref());
    let is_secret = resource.group.is_empty() && &*resource.kind == "Secret";
    if reveal && is_secret && !context.reveal_secrets {
        let message = "reveal: this agent reveals no values of Secrets (kubernetes.revealSecrets)";
        return Err(OperationError::agent(ErrorKind::Forbidden, message));
    }
    let call = Call::about(Method::GET, &resource, namespace, Some(&target.name));
    let reply = context.read(&call).await.map_err(|error| errors::of_read(&error))?;
    if reveal && is_secret {
        info!(operationId = %context.operation, account = %context.account.description.name,
            operationNamespace = namespace.unwrap_or_default(), name = target.name, "the values of a Secret leave the cluster: they were asked for");
        return Ok(Answer { code: reply.code, body: reply.body });
    }
    let body = scrub_result(reply.body, context.redactions())
        .map_err(|malformed| errors::unreadable(&call, &malformed))?;
    Ok(Answer { code: reply.code, body })
}
