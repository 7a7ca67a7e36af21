//! Pods: status, readiness and restarts, derived from the states of their containers.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::NONE;
use crate::{
    age::since,
    column::{AGE, Builtin, NAME, text, wide},
    look::Look,
};

pub(super) const POD: &[Builtin] = &[
    NAME,
    text("Ready", |pod, _| {
        let summary = Summary::of(pod);
        format!("{}/{}", summary.ready, summary.containers).into()
    }),
    text("Status", |pod, _| Summary::of(pod).status.into_owned().into()),
    text("Restarts", |pod, now| {
        let Summary { restarts, last_restart, .. } = Summary::of(pod);
        match last_restart {
            Some(last) if restarts > 0 => format!("{restarts} ({} ago)", since(now, last)).into(),
            _ => restarts.to_string().into(),
        }
    }),
    AGE,
    wide("IP", |pod, _| pod.text_or("/status/podIPs/0/ip", NONE).into()),
    wide("Node", |pod, _| pod.text_or("/spec/nodeName", NONE).into()),
    wide("Nominated Node", |pod, _| pod.text_or("/status/nominatedNodeName", NONE).into()),
    wide("Readiness Gates", readiness_gates),
];

/// Status of a pod.
pub(crate) struct Summary<'a> {
    /// `Running`, `Init:1/2`, `CrashLoopBackOff` and so on.
    pub(crate) status: Cow<'a, str>,
    ready: usize,
    containers: usize,
    restarts: i64,
    last_restart: Option<&'a str>,
}

/// Restarts of some containers, and the time of the last one.
#[derive(Default, Clone, Copy)]
struct Restarts<'a> {
    count: i64,
    last: Option<&'a str>,
}

// === impl Summary ===

impl<'a> Summary<'a> {
    pub(crate) fn of(pod: &'a Value) -> Self {
        let sidecars: Vec<_> =
            pod.list("/spec/initContainers").iter().filter(|container| is_sidecar(container)).collect();
        let mut summary = Self {
            status: pod.text_or("/status/reason", pod.text("/status/phase")).into(),
            ready: 0,
            containers: pod.list("/spec/containers").len() + sidecars.len(),
            restarts: 0,
            last_restart: None,
        };
        let scheduled = pod.condition("PodScheduled");
        if scheduled.is_some_and(|condition| condition.text("/reason") == "SchedulingGated") {
            summary.status = "SchedulingGated".into();
        }
        let initializing = summary.initialize(pod, &sidecars);
        if !initializing || super::is_true(pod, "Initialized") {
            summary.run(pod);
        }
        if pod.has("/metadata/deletionTimestamp") {
            let ended = matches!(pod.text("/status/phase"), "Succeeded" | "Failed");
            if pod.text("/status/reason") == "NodeLost" {
                summary.status = "Unknown".into();
            } else if !ended {
                summary.status = "Terminating".into();
            }
        }
        summary
    }

    /// Evaluates the init containers up to the first incomplete one; returns true if there is one.
    fn initialize(&mut self, pod: &'a Value, sidecars: &[&Value]) -> bool {
        let mut all = Restarts::default();
        let mut of_sidecars = Restarts::default();
        let mut waiting_for = None;
        for (index, container) in pod.list("/status/initContainerStatuses").iter().enumerate() {
            let is_sidecar = sidecars.iter().any(|sidecar| sidecar.text("/name") == container.text("/name"));
            all.add(container);
            if is_sidecar {
                of_sidecars.add(container);
            }
            let done = container.has("/state/terminated") && container.int("/state/terminated/exitCode") == 0;
            if done {
                continue;
            }
            if is_sidecar && container.flag("/started") {
                self.ready += usize::from(container.flag("/ready"));
                continue;
            }
            waiting_for = Some((index, container));
            break;
        }
        let Some((index, container)) = waiting_for else {
            self.count(of_sidecars);
            return false;
        };
        let waiting = container.text("/state/waiting/reason");
        self.status = if container.has("/state/terminated") {
            format!("Init:{}", how_it_ended(container)).into()
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}").into()
        } else {
            format!("Init:{index}/{}", pod.list("/spec/initContainers").len()).into()
        };
        self.count(if super::is_true(pod, "Initialized") { of_sidecars } else { all });
        true
    }

    /// Evaluates the containers in reverse order, so that the reason of the first one wins.
    fn run(&mut self, pod: &'a Value) {
        let mut restarts = Restarts { count: self.restarts, last: self.last_restart };
        let mut is_running = false;
        let mut failure = None;
        for container in pod.list("/status/containerStatuses").iter().rev() {
            restarts.add(container);
            let waiting = container.text("/state/waiting/reason");
            if !waiting.is_empty() {
                self.status = waiting.into();
            } else if container.has("/state/terminated") {
                self.status = how_it_ended(container);
                if container.int("/state/terminated/exitCode") != 0 {
                    failure = Some(self.status.clone());
                }
            } else if container.flag("/ready") && container.has("/state/running") {
                is_running = true;
                self.ready += 1;
            }
        }
        self.count(restarts);
        // One container is complete; the status depends on the others.
        if self.status == "Completed" {
            let ready = pod
                .list("/status/conditions")
                .iter()
                .any(|condition| condition.text("/type") == "Ready" && condition.text("/status") == "True");
            if is_running && ready {
                self.status = "Running".into();
            } else if let Some(failure) = failure {
                self.status = failure;
            } else if is_running {
                self.status = "NotReady".into();
            }
        }
    }

    fn count(&mut self, restarts: Restarts<'a>) {
        self.restarts = restarts.count;
        self.last_restart = restarts.last;
    }
}

/// Reason of a terminated container, or its signal or exit code.
fn how_it_ended(container: &Value) -> Cow<'_, str> {
    match (container.text("/state/terminated/reason"), container.int("/state/terminated/signal")) {
        ("", 0) => format!("ExitCode:{}", container.int("/state/terminated/exitCode")).into(),
        ("", signal) => format!("Signal:{signal}").into(),
        (reason, _) => reason.into(),
    }
}

/// Whether an init container is a sidecar: it restarts always.
fn is_sidecar(container: &Value) -> bool {
    container.text("/restartPolicy") == "Always"
}

fn readiness_gates(pod: &Value, _: Timestamp) -> Value {
    let gates = pod.list("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let open = gates.iter().filter(|gate| super::is_true(pod, gate.text("/conditionType"))).count();
    format!("{open}/{}", gates.len()).into()
}

// === impl Restarts ===

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a Value) {
        self.count += container.int("/restartCount");
        let finished = container.at("/lastState/terminated/finishedAt").as_str();
        // RFC 3339 in UTC sorts as text.
        self.last = self.last.max(finished);
    }
}
