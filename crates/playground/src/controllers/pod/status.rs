//! Pod status at each stage of the lifecycle.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::{
    fields::{self, count, is_ready, list, text},
    reconcile::ReconcileContext,
};

/// Stage of a pod's lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodStage {
    Unbound,
    Bound,
    Creating,
    /// The image cannot be pulled.
    Stuck,
    /// The containers run and are not ready.
    Starting,
    Running,
    Crashed,
    BackingOff,
    Done,
}

/// Exit of a pod's first container; the simulated kubelet continues from there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    pub(crate) exit_code: i64,
    pub(crate) at: Timestamp,
}

// === impl Crash ===

impl Crash {
    /// Applies the exit to a pod whose container runs.
    pub(crate) fn befall(self, pod: &mut Value) {
        if matches!(PodStage::of(pod), PodStage::Running | PodStage::Starting) {
            let status = self.status(pod);
            fields::set(pod, &["status"], status);
        }
    }

    pub(super) fn status(self, pod: &Value) -> Value {
        let mut status = pod["status"].clone();
        let at = fields::stamp(self.at);
        fields::set(&mut status, &["conditions"], conditions(pod, &at, true, false));
        let Some(container) = status.pointer_mut("/containerStatuses/0") else { return status };
        let ended = terminated(container, self.exit_code, &at);
        fields::set(container, &["state"], json!({ "terminated": ended }));
        fields::set(container, &["ready"], false);
        fields::set(container, &["started"], false);
        status
    }
}

// === impl PodStage ===

impl PodStage {
    pub(super) fn of(pod: &Value) -> Self {
        if matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") {
            return Self::Done;
        }
        if text(pod, "/spec/nodeName").is_empty() {
            return Self::Unbound;
        }
        let Some(container) = list(pod, "/status/containerStatuses").first() else { return Self::Bound };
        let state = &container["state"];
        match text(state, "/waiting/reason") {
            "CrashLoopBackOff" => Self::BackingOff,
            "ImagePullBackOff" | "ErrImagePull" => Self::Stuck,
            _ if state.get("terminated").is_some() => Self::Crashed,
            _ if state.get("running").is_none() => Self::Creating,
            _ if is_ready(pod) => Self::Running,
            _ => Self::Starting,
        }
    }
}

pub(super) fn unschedulable(pod: &Value, why: &str, context: &ReconcileContext<'_>) -> Value {
    let since = fields::condition(pod, "PodScheduled").map(|old| text(old, "/lastTransitionTime").to_owned());
    json!({
        "phase": "Pending",
        "qosClass": qos(pod),
        "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why,
            "lastProbeTime": null, "lastTransitionTime": since.unwrap_or_else(|| context.stamp()),
        }],
    })
}

pub(super) fn creating(pod: &Value, context: &mut ReconcileContext<'_>) -> Value {
    let waiting = json!({ "waiting": { "reason": "ContainerCreating" } });
    let at = context.stamp();
    let node = context.rng.u8(2..250);
    json!({
        "phase": "Pending",
        "qosClass": qos(pod),
        "hostIP": format!("10.12.0.{node}"),
        "hostIPs": [{ "ip": format!("10.12.0.{node}") }],
        "startTime": at,
        "conditions": conditions(pod, &at, false, false),
        "containerStatuses": containers(pod, |container| container_status(container, &waiting, 0, false)),
    })
}

pub(super) fn not_pulled(pod: &Value, context: &ReconcileContext<'_>) -> Value {
    let mut status = pod["status"].clone();
    let waiting = json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling image" } });
    fields::set(
        &mut status,
        &["containerStatuses"],
        containers(pod, |it| container_status(it, &waiting, 0, false)),
    );
    fields::set(&mut status, &["conditions"], conditions(pod, &context.stamp(), true, false));
    status
}

pub(super) fn running(pod: &Value, context: &mut ReconcileContext<'_>) -> Value {
    let at = context.stamp();
    let state = json!({ "running": { "startedAt": at } });
    let mut status = pod["status"].clone();
    let address = format!("10.244.{}.{}", context.rng.u8(..64), context.rng.u8(2..));
    fields::set(&mut status, &["phase"], "Running");
    fields::set(&mut status, &["podIP"], address.as_str());
    fields::set(&mut status, &["podIPs"], json!([{ "ip": address }]));
    fields::set(&mut status, &["conditions"], conditions(pod, &at, true, false));
    fields::set(
        &mut status,
        &["containerStatuses"],
        containers(pod, |it| container_status(it, &state, 0, false)),
    );
    let started = list(pod, "/spec/initContainers");
    if !started.is_empty() {
        let done = json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at } });
        let done: Vec<_> = started.iter().map(|it| container_status(it, &done, 0, true)).collect();
        fields::set(&mut status, &["initContainerStatuses"], done);
    }
    status
}

pub(super) fn ready(pod: &Value, context: &ReconcileContext<'_>) -> Value {
    let mut status = pod["status"].clone();
    fields::set(&mut status, &["conditions"], conditions(pod, &context.stamp(), true, true));
    each_container(&mut status, |container| {
        fields::set(container, &["ready"], true);
        fields::set(container, &["started"], true);
    });
    status
}

pub(super) fn backing_off(pod: &Value, _: &ReconcileContext<'_>) -> Value {
    let mut status = pod["status"].clone();
    let named = text(pod, "/spec/containers/0/name").to_owned();
    let Some(container) = status.pointer_mut("/containerStatuses/0") else { return status };
    let last = container["state"].clone();
    let message = format!("back-off restarting failed container={named}");
    fields::set(container, &["lastState"], last);
    fields::set(
        container,
        &["state"],
        json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } }),
    );
    status
}

pub(super) fn restarted(pod: &Value, context: &ReconcileContext<'_>) -> Value {
    let mut status = pod["status"].clone();
    let Some(container) = status.pointer_mut("/containerStatuses/0") else { return status };
    if container["state"].get("terminated").is_some() {
        let last = container["state"].clone();
        fields::set(container, &["lastState"], last);
    }
    let restarts = count(container, "/restartCount") + 1;
    fields::set(container, &["restartCount"], restarts);
    fields::set(container, &["state"], json!({ "running": { "startedAt": context.stamp() } }));
    fields::set(container, &["started"], true);
    status
}

pub(super) fn ended(pod: &Value, exit_code: i64, context: &ReconcileContext<'_>) -> Value {
    let at = context.stamp();
    let mut status = pod["status"].clone();
    fields::set(&mut status, &["phase"], if exit_code == 0 { "Succeeded" } else { "Failed" });
    let mut conditions = conditions(pod, &at, true, false);
    for condition in
        conditions.iter_mut().filter(|it| matches!(text(it, "/type"), "Ready" | "ContainersReady"))
    {
        fields::set(condition, &["reason"], if exit_code == 0 { "PodCompleted" } else { "PodFailed" });
    }
    fields::set(&mut status, &["conditions"], conditions);
    each_container(&mut status, |container| {
        let ended = terminated(container, exit_code, &at);
        fields::set(container, &["state"], json!({ "terminated": ended }));
        fields::set(container, &["ready"], false);
        fields::set(container, &["started"], false);
    });
    status
}

fn terminated(container: &Value, exit_code: i64, at: &str) -> Value {
    let reason = match exit_code {
        0 => "Completed",
        137 => "OOMKilled",
        _ => "Error",
    };
    json!({
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": text(container, "/state/running/startedAt"),
        "finishedAt": at,
        "containerID": container["containerID"],
    })
}

fn conditions(pod: &Value, at: &str, started: bool, ready: bool) -> Vec<Value> {
    let condition = |(kind, holds): (&str, bool)| {
        let status = if holds { "True" } else { "False" };
        let same = fields::condition(pod, kind).filter(|old| text(old, "/status") == status);
        let since = same.map_or(at, |old| text(old, "/lastTransitionTime"));
        let mut condition =
            json!({ "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": since });
        if !holds && matches!(kind, "Ready" | "ContainersReady") {
            fields::set(&mut condition, &["reason"], "ContainersNotReady");
        }
        condition
    };
    [
        ("PodReadyToStartContainers", started),
        ("Initialized", true),
        ("Ready", ready),
        ("ContainersReady", ready),
        ("PodScheduled", true),
    ]
    .map(condition)
    .into()
}

fn containers(pod: &Value, status: impl Fn(&Value) -> Value) -> Vec<Value> {
    list(pod, "/spec/containers").iter().map(status).collect()
}

fn container_status(container: &Value, state: &Value, restarts: i64, ready: bool) -> Value {
    let image = text(container, "/image");
    let mut status = json!({
        "name": text(container, "/name"),
        "image": image,
        "imageID": "",
        "lastState": {},
        "ready": ready,
        "started": ready,
        "restartCount": restarts,
        "state": state,
    });
    if state.get("waiting").is_none() {
        // Derived from the name, so that the same image has the same digest in all clusters.
        let seed =
            image.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut rng = fastrand::Rng::with_seed(seed);
        let repository = image.rsplit_once(':').map_or(image, |(repository, _)| repository);
        let digest = format!("{:032x}{:032x}", rng.u128(..), rng.u128(..));
        fields::set(&mut status, &["imageID"], format!("{repository}@sha256:{digest}"));
        fields::set(&mut status, &["containerID"], format!("containerd://{digest}"));
    }
    status
}

fn each_container(status: &mut Value, change: impl Fn(&mut Value)) {
    if let Some(containers) = status.get_mut("containerStatuses").and_then(Value::as_array_mut) {
        containers.iter_mut().for_each(change);
    }
}

fn qos(pod: &Value) -> &'static str {
    let resources: Vec<_> = list(pod, "/spec/containers").iter().map(|it| &it["resources"]).collect();
    let empty = |part: &Value| part.as_object().is_none_or(serde_json::Map::is_empty);
    if resources.iter().all(|it| empty(&it["requests"]) && empty(&it["limits"])) {
        "BestEffort"
    } else if resources.iter().all(|it| !empty(&it["limits"]) && it["requests"] == it["limits"]) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
