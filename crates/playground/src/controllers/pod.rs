//! Lifecycle of a pod, as a scheduler and a kubelet would run it.
//!
//! ```text
//! created ─▶ bound ─▶ ContainerCreating ─▶ Running ─▶ Ready ─▶ deleted ─▶ gone
//!                          │                  │ └──────▶ Succeeded, Failed      (its command ends, no restart)
//!                          │                  └────────▶ crashed ─▶ Running     (its command fails, restart)
//!                          └─▶ ImagePullBackOff                                 (its image's tag says so)
//! ```
//!
//! The command determines the behaviour of a container: `sleep 5` runs for five seconds, `exit 3` and `false` fail, the
//! image tags `missing` and `does-not-exist` cannot be pulled. Everything else runs until it is stopped, or, in a pod
//! that is not restarted, for a while.

mod command;
mod status;

use std::time::Duration;

use serde_json::Value;

use super::{
    fields::{self, count, is_deleted, list, matches, name, namespace, number, text},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext},
};
use command::Command;
pub(crate) use status::Crash;
use status::PodStage;

const SCHEDULER: &str = "default-scheduler";
const KUBELET: &str = "kubelet";

/// Maximum delay between two restarts.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

/// Reason of a reconciliation: the object changed, or a requested requeue is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Change,
    Timer,
}

pub(super) fn decide(
    pod: &Value,
    nodes: &[Value],
    cause: Trigger,
    context: &mut ReconcileContext<'_>,
) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(pod) {
        stop(&mut plan, pod, cause, context);
        return plan;
    }
    let command = Command::of(pod);
    match (PodStage::of(pod), cause) {
        (PodStage::Unbound, _) => bind(&mut plan, pod, nodes, context),
        (PodStage::Bound, _) => {
            plan.status(Kind::Pod, pod, status::creating(pod, context));
            plan.later(context.jittered(context.timing.start));
        }
        (PodStage::Creating, Trigger::Change) => plan.later(context.jittered(context.timing.start)),
        (PodStage::Creating, Trigger::Timer) if !command.pullable => {
            let image = text(pod, "/spec/containers/0/image");
            plan.record(pod, KUBELET, "Failed", format!("Failed to pull image \"{image}\": not found"));
            plan.record(pod, KUBELET, "BackOff", format!("Back-off pulling image \"{image}\""));
            plan.status(Kind::Pod, pod, status::not_pulled(pod, context));
        }
        (PodStage::Creating, Trigger::Timer) => start(&mut plan, pod, context),
        (PodStage::Starting | PodStage::Crashed, Trigger::Change) => {
            plan.later(context.jittered(context.timing.ready));
        }
        (PodStage::Starting, Trigger::Timer) => plan.status(Kind::Pod, pod, status::ready(pod, context)),
        (PodStage::Running, Trigger::Change) => {
            if let Some(limit) = command.runs_for(context) {
                plan.later(limit);
            }
        }
        (PodStage::Running, Trigger::Timer) => end(&mut plan, pod, command, context),
        (PodStage::Crashed, Trigger::Timer) if restarts(pod) == 0 => {
            plan.record(pod, KUBELET, "Started", format!("Started container {}", first(pod)));
            plan.status(Kind::Pod, pod, status::restarted(pod, context));
        }
        (PodStage::Crashed, Trigger::Timer) => {
            let told = format!("Back-off restarting failed container {}", first(pod));
            plan.record(pod, KUBELET, "BackOff", told);
            plan.status(Kind::Pod, pod, status::backing_off(pod, context));
        }
        (PodStage::BackingOff, Trigger::Change) => {
            let doublings = u32::try_from(restarts(pod).clamp(0, 10)).unwrap_or(0);
            plan.later((context.timing.back_off * 2_u32.pow(doublings)).min(LONGEST_BACK_OFF));
        }
        (PodStage::BackingOff, Trigger::Timer) => {
            plan.status(Kind::Pod, pod, status::restarted(pod, context));
        }
        (PodStage::Stuck | PodStage::Done, _) => {}
    }
    plan
}

/// Binds the pod to a random matching node.
fn bind(plan: &mut Plan, pod: &Value, nodes: &[Value], context: &mut ReconcileContext<'_>) {
    let wanted = &pod["spec"]["nodeSelector"];
    let any = wanted.as_object().is_none_or(serde_json::Map::is_empty);
    let fitting: Vec<_> = nodes
        .iter()
        .filter(|node| !fields::flag(node, "/spec/unschedulable"))
        .filter(|node| any || matches(wanted, &node["metadata"]["labels"]))
        .collect();
    let Some(node) = fitting.get(context.rng.usize(..fitting.len().max(1))) else {
        let why = format!("0/{} nodes are available: none matches the pod's node selector.", nodes.len());
        let status = status::unschedulable(pod, &why, context);
        if pod.get("status") != Some(&status) {
            plan.record(pod, SCHEDULER, "FailedScheduling", why);
            plan.status(Kind::Pod, pod, status);
        }
        return;
    };
    let mut bound = pod.clone();
    fields::set(&mut bound, &["spec", "nodeName"], name(node));
    let told = format!("Successfully assigned {}/{} to {}", namespace(pod), name(pod), name(node));
    plan.record(pod, SCHEDULER, "Scheduled", told);
    plan.write(ObjectWrite::Update(Kind::Pod, bound));
}

fn start(plan: &mut Plan, pod: &Value, context: &mut ReconcileContext<'_>) {
    for container in list(pod, "/spec/containers") {
        let (image, named) = (text(container, "/image"), text(container, "/name"));
        plan.record(
            pod,
            KUBELET,
            "Pulled",
            format!("Container image \"{image}\" already present on machine"),
        );
        plan.record(pod, KUBELET, "Started", format!("Started container {named}"));
    }
    let probed =
        list(pod, "/spec/containers").iter().any(|container| container.get("readinessProbe").is_some());
    let mut status = status::running(pod, context);
    if !probed {
        let mut running = pod.clone();
        fields::set(&mut running, &["status"], status);
        status = status::ready(&running, context);
    }
    plan.status(Kind::Pod, pod, status);
}

/// Ends the container if its command has ended.
fn end(plan: &mut Plan, pod: &Value, command: Command, context: &mut ReconcileContext<'_>) {
    if command.runs_for(context).is_none() {
        return;
    }
    // The requeue may have been requested before the pod was running.
    let since = fields::time(pod, "/status/containerStatuses/0/state/running/startedAt");
    if let Some(left) = since.and_then(|since| command.sleeps_on(since, context.now)) {
        plan.later(left);
        return;
    }
    let again = match text(pod, "/spec/restartPolicy") {
        "Never" => false,
        "OnFailure" => command.exit_code != 0,
        _ => true,
    };
    let status = if again {
        Crash { exit_code: command.exit_code, at: context.now }.status(pod)
    } else {
        status::ended(pod, command.exit_code, context)
    };
    plan.status(Kind::Pod, pod, status);
}

fn stop(plan: &mut Plan, pod: &Value, cause: Trigger, context: &mut ReconcileContext<'_>) {
    let grace = number(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or(30);
    let never_ran = matches!(PodStage::of(pod), PodStage::Unbound | PodStage::Bound | PodStage::Done);
    if cause == Trigger::Timer || never_ran || grace == 0 {
        let (namespace, name) = (namespace(pod).to_owned(), name(pod).to_owned());
        plan.write(ObjectWrite::Remove { kind: Kind::Pod, namespace, name });
        return;
    }
    plan.record(pod, KUBELET, "Killing", format!("Stopping container {}", first(pod)));
    plan.later(context.jittered(context.timing.stop).min(Duration::from_secs(grace.unsigned_abs())));
}

fn first(pod: &Value) -> &str {
    text(pod, "/spec/containers/0/name")
}

fn restarts(pod: &Value) -> i64 {
    list(pod, "/status/containerStatuses").iter().map(|container| count(container, "/restartCount")).sum()
}

#[cfg(test)]
mod tests;
