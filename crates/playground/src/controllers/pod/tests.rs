//! Lifecycles of pods, one reconciliation at a time.

use serde_json::json;

use super::*;
use crate::controllers::{fields::is_ready, reconcile::Timing};

struct PodUnderTest {
    pod: Value,
    rng: fastrand::Rng,
    gone: bool,
}

impl PodUnderTest {
    fn new(spec: &Value) -> Self {
        let pod = json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec, "status": { "phase": "Pending" } });
        Self { pod, rng: fastrand::Rng::with_seed(1), gone: false }
    }

    /// Reconciles, timers included, until the pod meets the condition.
    fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) {
        let nodes = [json!({ "metadata": { "name": "node-1", "labels": {} } })];
        let mut cause = Trigger::Change;
        for _ in 0..20 {
            if wanted(&self.pod) {
                return;
            }
            let now = "2026-01-01T00:00:00Z".parse().unwrap();
            let mut context =
                ReconcileContext { now, timing: Timing::FAST, rng: &mut self.rng, pod_budget: 500 };
            let plan = decide(&self.pod, &nodes, cause, &mut context);
            cause = if plan.again.is_some() && cause == Trigger::Change {
                Trigger::Timer
            } else {
                Trigger::Change
            };
            for write in plan.writes {
                match write {
                    ObjectWrite::Update(_, pod) => self.pod = pod,
                    ObjectWrite::Status(_, pod) => {
                        self.pod = pod;
                        cause = Trigger::Change;
                    }
                    ObjectWrite::Remove { .. } => self.gone = true,
                    _ => {}
                }
            }
            if self.gone {
                return;
            }
        }
        panic!("not {what}: {:#}", self.pod["status"]);
    }
}

fn container(command: &[&str]) -> Value {
    json!([{ "name": "web", "image": "web:1", "command": command }])
}

#[test]
fn a_pod_is_bound_started_made_ready_and_stopped() {
    let mut containers = container(&[]);
    containers[0]["readinessProbe"] = json!({});
    let mut life = PodUnderTest::new(&json!({ "containers": containers }));
    life.until("bound", |pod| text(pod, "/spec/nodeName") == "node-1");
    life.until("creating", |pod| {
        text(pod, "/status/containerStatuses/0/state/waiting/reason") == "ContainerCreating"
    });
    life.until("running", |pod| text(pod, "/status/phase") == "Running" && !is_ready(pod));
    assert!(text(&life.pod, "/status/podIP").starts_with("10.244."));
    life.until("ready", is_ready);
    fields::set(&mut life.pod, &["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
    life.until("gone", |_| false);
    assert!(life.gone);
}

#[test]
fn a_command_that_ends_ends_the_pod() {
    let mut life =
        PodUnderTest::new(&json!({ "restartPolicy": "Never", "containers": container(&["true"]) }));
    life.until("succeeded", |pod| text(pod, "/status/phase") == "Succeeded");
    let mut life = PodUnderTest::new(
        &json!({ "restartPolicy": "Never", "containers": container(&["sh", "-c", "exit 7"]) }),
    );
    life.until("failed", |pod| text(pod, "/status/phase") == "Failed");
    assert_eq!(count(&life.pod, "/status/containerStatuses/0/state/terminated/exitCode"), 7);
}

#[test]
fn a_failing_container_is_restarted_and_then_backed_off() {
    let mut life = PodUnderTest::new(&json!({ "containers": container(&["false"]) }));
    life.until("restarted", |pod| restarts(pod) == 1);
    life.until("backing off", |pod| {
        text(pod, "/status/containerStatuses/0/state/waiting/reason") == "CrashLoopBackOff"
    });
    assert_eq!(count(&life.pod, "/status/containerStatuses/0/lastState/terminated/exitCode"), 1);
    life.until("restarted again", |pod| restarts(pod) == 2);
}

#[test]
fn a_pod_without_a_node_that_fits_stays_pending_and_says_why() {
    let mut life =
        PodUnderTest::new(&json!({ "nodeSelector": { "gpu": "yes" }, "containers": container(&[]) }));
    life.until("unschedulable", |pod| {
        fields::condition(pod, "PodScheduled").is_some_and(|it| text(it, "/reason") == "Unschedulable")
    });
}

#[test]
fn an_image_that_is_missing_is_not_pulled() {
    let mut life = PodUnderTest::new(&json!({ "containers": [{ "name": "web", "image": "web:missing" }] }));
    life.until("stuck", |pod| {
        text(pod, "/status/containerStatuses/0/state/waiting/reason") == "ImagePullBackOff"
    });
}
