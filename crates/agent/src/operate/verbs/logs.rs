//! Reads what a container has written, as it comes.

mod choice;

use http::Method;
use serde_json::Value;
use spindrift_kubernetes::{Call, rollout::selector_text};
use spindrift_model::{Content, Logs, Resource};
use tokio::time::Instant;

use super::{Answer, AnswerSink, Failure, Hand, parsed};

pub(super) async fn run(hand: &Hand, logs: Logs, sink: &impl AnswerSink) -> Result<Answer, Failure> {
    let resource = hand.resolve(logs.target.api_version.as_deref(), &logs.target.kind).await?;
    let namespace = hand.namespace(&resource, logs.target.namespace.as_deref());
    let target = Call::about(Method::GET, &resource, namespace, Some(&logs.target.name));
    let is_pod = resource.group.is_empty() && &*resource.kind == "Pod";
    let (pod, container) = match (is_pod, &logs.container) {
        (true, Some(container)) => (logs.target.name.clone(), container.clone()),
        (true, None) => {
            let pod: Value = read(hand, &target).await?;
            (logs.target.name.clone(), choice::container(&pod)?)
        }
        (false, container) => {
            let object: Value = read(hand, &target).await?;
            let pod = first_pod(hand, &resource, namespace, &object).await?;
            let container = container.clone().map_or_else(|| choice::container(&pod), Ok)?;
            (choice::name(&pod).to_owned(), container)
        }
    };
    let call = question(&logs, namespace, &pod, &container);
    let mut pieces =
        hand.api().pieces(&call, hand.deadline).await.map_err(|error| Failure::of_read(&error))?;
    hand.metrics.kubernetes_requests.inc();
    sink.begin(Content::Text);
    loop {
        let patience = hand.deadline.saturating_duration_since(Instant::now());
        match pieces.next(patience).await.map_err(|error| Failure::of_read(&error))? {
            Some(piece) => sink.send(piece).await.map_err(|_| Failure::Cancelled)?,
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

/// The pod of a workload that says most, as kubectl chooses it.
async fn first_pod(
    hand: &Hand,
    resource: &Resource,
    namespace: Option<&str>,
    object: &Value,
) -> Result<Value, Failure> {
    let name = format!("{}/{}", resource.plural, choice::name(object));
    let selector = object.pointer("/spec/selector").and_then(selector_text).ok_or_else(|| {
        Failure::ours(400, "BadRequest", format!("cannot get the logs from {name}: it selects no pods"))
    })?;
    let call = Call::about(Method::GET, &pods(), namespace, None).query("labelSelector", &selector);
    let mut list: Value = read(hand, &call).await?;
    let Some(Value::Array(mut found)) = list.get_mut("items").map(Value::take) else {
        return Err(none(&name));
    };
    found.sort_by(choice::by_logging);
    found.into_iter().next().ok_or_else(|| none(&name))
}

fn none(name: &str) -> Failure {
    Failure::ours(404, "NotFound", format!("no pods of {name} were found"))
}

async fn read(hand: &Hand, call: &Call) -> Result<Value, Failure> {
    parsed(&hand.read(call).await.map_err(|error| Failure::of_read(&error))?.body)
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
