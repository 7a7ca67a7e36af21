//! Metrics API (`metrics.k8s.io/v1beta1`): usage of the simulated pods and nodes, as a metrics server reports it.
//!
//! The usage of a container is a part of its requests that changes slowly, so that two requests show different values.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::ApiRequest;
use super::respond;
use crate::cluster::Body;
use crate::object::{self, list, text};
use crate::selector::parse_labels;
use crate::status::Status;

pub(crate) const GROUP: &str = "metrics.k8s.io";
pub(crate) const VERSION: &str = "v1beta1";

/// Requested usage.
pub(crate) enum Usage {
    /// Namespace (empty for all) and name (empty for all).
    Pods(String, String),
    Nodes(String),
}

/// Seconds between two measurements.
const WINDOW: i64 = 15;
/// Usage of a container without requests, in thousandths of a core and in MiB.
const SMALLEST: (u64, u64) = (20, 32);

// === impl Usage ===

impl Usage {
    /// Parses the path below the version.
    pub(crate) fn parse(rest: &[&str]) -> Option<Self> {
        Some(match rest {
            ["nodes"] => Self::Nodes(String::new()),
            ["nodes", name] => Self::Nodes((*name).to_owned()),
            ["pods"] => Self::Pods(String::new(), String::new()),
            ["namespaces", namespace, "pods"] => Self::Pods((*namespace).to_owned(), String::new()),
            ["namespaces", namespace, "pods", name] => {
                Self::Pods((*namespace).to_owned(), (*name).to_owned())
            }
            _ => return None,
        })
    }
}

pub(crate) fn respond(call: &ApiRequest, usage: &Usage) -> Result<Response<Body>, Status> {
    let labels = parse_labels(call.query.get("labelSelector").unwrap_or_default())?;
    let now = Timestamp::now();
    let is_selected = |object: &Value| {
        labels.matches(|key| object.pointer("/metadata/labels").and_then(|all| all.get(key)?.as_str()))
    };
    let (kind, name, items) = match usage {
        Usage::Pods(namespace, name) => {
            let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
            let pods = call.cluster.list("", "pods", namespace).into_iter();
            let pods = pods.filter(|pod| is_selected(pod) && is_running(pod));
            ("PodMetrics", name, pods.map(|pod| of_pod(&pod, now)).collect::<Vec<_>>())
        }
        Usage::Nodes(name) => {
            let pods = call.cluster.list("", "pods", None);
            let nodes = call.cluster.list("", "nodes", None).into_iter().filter(is_selected);
            ("NodeMetrics", name, nodes.map(|node| of_node(&node, &pods, now)).collect())
        }
    };
    if name.is_empty() {
        let api_version = format!("{GROUP}/{VERSION}");
        return respond::json(
            &json!({ "kind": format!("{kind}List"), "apiVersion": api_version, "metadata": {}, "items": items }),
        );
    }
    let found = items.into_iter().find(|item| object::name(item) == name);
    let plural = if kind == "PodMetrics" { "pods" } else { "nodes" };
    let missing = || Status::new(404, "NotFound", format!("{plural}.{GROUP} {name:?} not found"));
    respond::json(&found.ok_or_else(missing)?)
}

fn is_running(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Running"
}

fn of_pod(pod: &Value, now: Timestamp) -> Value {
    let uid = text(pod, "/metadata/uid");
    let containers: Vec<Value> = list(pod, "/spec/containers")
        .iter()
        .map(|container| {
            let (cpu, memory) = of_container(uid, container, now);
            json!({ "name": text(container, "/name"), "usage": quantities(cpu, memory) })
        })
        .collect();
    let mut metrics = measured("PodMetrics", pod, now);
    metrics["containers"] = containers.into();
    metrics
}

/// Usage of a node: that of its pods, and of the node's own daemons.
fn of_node(node: &Value, pods: &[Value], now: Timestamp) -> Value {
    let (mut cpu, mut memory) = (100, 400);
    let here = pods.iter().filter(|pod| is_running(pod) && text(pod, "/spec/nodeName") == object::name(node));
    for pod in here {
        for container in list(pod, "/spec/containers") {
            let (more_cpu, more_memory) = of_container(text(pod, "/metadata/uid"), container, now);
            cpu += more_cpu;
            memory += more_memory;
        }
    }
    let mut metrics = measured("NodeMetrics", node, now);
    metrics["usage"] = quantities(cpu, memory);
    metrics
}

fn measured(kind: &str, object: &Value, now: Timestamp) -> Value {
    let mut metadata = json!({ "name": object::name(object), "labels": object.pointer("/metadata/labels") });
    if !object::namespace(object).is_empty() {
        metadata["namespace"] = object::namespace(object).into();
    }
    json!({
        "kind": kind, "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": metadata,
        "timestamp": Timestamp::from_second(now.as_second() / WINDOW * WINDOW).unwrap_or(now).to_string(),
        "window": format!("{WINDOW}s"),
    })
}

/// Thousandths of a core, and MiB: between a fifth and nine tenths of the requests.
fn of_container(uid: &str, container: &Value, now: Timestamp) -> (u64, u64) {
    let request = |resource: &str| {
        spindrift_printer::quantity(text(container, &format!("/resources/requests/{resource}")))
    };
    let share = |salt: &str, window: i64| {
        let mut hasher = DefaultHasher::new();
        (uid, text(container, "/name"), salt, window).hash(&mut hasher);
        20 + hasher.finish() % 71
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "requests are small and positive"
    )]
    let whole = |amount: Option<f64>, unit: f64, smallest: u64| {
        amount.map_or(smallest, |amount| ((amount / unit).max(1.0)) as u64)
    };
    let (cpu, memory) =
        (whole(request("cpu"), 0.001, SMALLEST.0), whole(request("memory"), 1_048_576.0, SMALLEST.1));
    let window = now.as_second() / WINDOW;
    // Memory stays for ten windows, the processor is busier or idler in each.
    ((cpu * share("cpu", window) / 100).max(1), (memory * share("memory", window / 10) / 100).max(1))
}

fn quantities(cpu: u64, memory: u64) -> Value {
    json!({ "cpu": format!("{cpu}m"), "memory": format!("{memory}Mi") })
}
