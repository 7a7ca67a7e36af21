//! `logs`: reads the log of a container, as it is written.

mod choice;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, by_logging, rollout::selector_text};
use spindrift_model::{Content, ErrorKind, Logs, OperationError, Resource};
use tokio::time::Instant;

use super::{Answer, AnswerSink, OperationContext, parsed};
use crate::operate::errors;

pub(super) async fn run(
    context: &OperationContext,
    logs: Logs,
    sink: &impl AnswerSink,
) -> Result<Answer, OperationError> {
    let resource = context.resolve(logs.target.api_version.as_deref(), &logs.target.kind).await?;
    let namespace = context.namespace(&resource, logs.target.namespace.as_deref());
    let target = Call::about(Method::GET, &resource, namespace, Some(&logs.target.name));
    let is_pod = resource.group.is_empty() && &*resource.kind == "Pod";
    let (pod, container) = match (is_pod, &logs.container) {
        (true, Some(container)) => (logs.target.name.clone(), container.clone()),
        (true, None) => {
            let pod: Value = read(context, &target).await?;
            (logs.target.name.clone(), choice::container(&pod)?)
        }
        (false, container) => {
            let object: Value = read(context, &target).await?;
            let pod = first_pod(context, &resource, namespace, &object).await?;
            let container = container.clone().map_or_else(|| choice::container(&pod), Ok)?;
            (choice::name(&pod).to_owned(), container)
        }
    };
    let call = question(&logs, namespace, &pod, &container);
    let mut pieces =
        context.api().pieces(&call, context.deadline).await.map_err(|error| errors::of_read(&error))?;
    context.metrics.kubernetes_requests.inc();
    sink.begin(Content::Text);
    loop {
        let patience = context.deadline.saturating_duration_since(Instant::now());
        match pieces.next(patience).await.map_err(|error| errors::of_read(&error))? {
            Some(piece) => sink.send(piece).await.map_err(|_| OperationError::cancelled())?,
            None => return Ok(Answer::sent(200)),
        }
    }
}

fn question(logs: &Logs, namespace: Option<&str>, pod: &str, container: &str) -> Call {
    let mut call = Call::about(Method::GET, &pods(), namespace, Some(pod))
        .subresource("log")
        .accept("*/*")
        .query("container", container);
    for (name, is_wanted) in
        [("previous", logs.previous), ("follow", logs.follow), ("timestamps", logs.timestamps)]
    {
        if is_wanted {
            call = call.query(name, "true");
        }
    }
    let numbers = [
        ("tailLines", logs.tail_lines),
        ("sinceSeconds", logs.since_seconds),
        ("limitBytes", logs.limit_bytes),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            call = call.query(name, &number.to_string());
        }
    }
    match &logs.since_time {
        Some(since) => call.query("sinceTime", since),
        None => call,
    }
}

/// Pod of a workload, as kubectl chooses it.
async fn first_pod(
    context: &OperationContext,
    resource: &Resource,
    namespace: Option<&str>,
    object: &Value,
) -> Result<Value, OperationError> {
    let name = format!("{}/{}", resource.plural, choice::name(object));
    let selector = object.pointer("/spec/selector").and_then(selector_text).ok_or_else(|| {
        OperationError::agent(
            ErrorKind::BadRequest,
            format!("cannot get the logs from {name}: it selects no pods"),
        )
    })?;
    let call = Call::about(Method::GET, &pods(), namespace, None).query("labelSelector", &selector);
    let mut list: Value = read(context, &call).await?;
    let Some(Value::Array(mut found)) = list.get_mut("items").map(Value::take) else {
        return Err(none(&name));
    };
    found.sort_by(by_logging);
    found.into_iter().next().ok_or_else(|| none(&name))
}

fn none(name: &str) -> OperationError {
    OperationError::agent(ErrorKind::NotFound, format!("no pods of {name} were found"))
}

async fn read(context: &OperationContext, call: &Call) -> Result<Value, OperationError> {
    parsed(&context.read(call).await.map_err(|error| errors::of_read(&error))?.body)
}

fn pods() -> Resource {
    Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        namespaced: true,
    }
}
