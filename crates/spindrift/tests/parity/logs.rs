//! Logs, of the playground's containers and of containers that are not there.

use std::{process::Output, sync::Arc};

use futures::{StreamExt, stream, stream::BoxStream};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use spindrift_playground::{
    Key, LogLine, LogSource, Run, Tempo,
    fleet::{self, Content, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{Kubectl, eventually, scratch};

use crate::{
    hand::refusal,
    outcome::{Outcome, Refusal},
    tally::Tally,
    world::{ACCOUNT, Stack},
};

/// What is asked: the target, kubectl's flags, and our fields.
struct Question {
    target: &'static str,
    flags: &'static [&'static str],
    fields: Value,
}

/// A container writes a line in each of so many seconds.
const LINES: i64 = 500;

/// Every container has its own words.
struct Words;

/// Compares what kubectl and the hub show of the same logs.
pub(crate) async fn compare(tally: &mut Tally) {
    let shutdown = Shutdown::new();
    let options =
        FleetOptions { content: Content::Shop { tempo: Tempo::HASTE, pace: 0.0 }, ..FleetOptions::shops(1) };
    let fleet = fleet::start(options, &shutdown).await.unwrap();
    let cluster = &fleet.clusters[0];
    cluster.set_logs(Arc::new(Words));
    let files = scratch("playground").unwrap();
    let kubeconfig = files.path().join("config");
    std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
    let kubectl = Kubectl::with(&kubeconfig).await.unwrap();
    let stack = Stack::start(&json!({ "kubeconfigFile": kubeconfig, "context": cluster.name() })).await;
    let operations = stack.hub.operations(ACCOUNT);

    let labels = json!({ "app": "web" });
    for object in
        [pod("one", &["main"]), pod("two", &["app", "proxy"]), defaulted(pod("three", &["app", "proxy"]))]
    {
        cluster.create(object).unwrap();
    }
    let template = json!({ "metadata": { "labels": labels }, "spec": pod("x", &["main"])["spec"] });
    cluster
        .create(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "default" },
            "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": template },
        }))
        .unwrap();
    let runs = |name: &str| {
        let pod = cluster.get(&Key::new("", "pods", "default", name));
        pod.is_some_and(|pod| pod["status"]["phase"] == "Running")
    };
    eventually!("the pods run", ["one", "two", "three"].into_iter().all(runs));
    eventually!("the deployment's pod runs", {
        let key = Key::new("apps", "deployments", "default", "web");
        cluster.get(&key).is_some_and(|web| web["status"]["readyReplicas"] == 1)
    });

    for Question { target, flags, fields } in questions() {
        let (kind, name) = target.split_once('/').unwrap();
        let mut arguments = vec!["--context", cluster.name(), "logs", target, "-n", "default"];
        arguments.extend(flags);
        let theirs = theirs(&kubectl.output(&arguments, "").await.unwrap());
        let mut verb =
            json!({ "verb": "logs", "target": { "kind": kind, "namespace": "default", "name": name } });
        verb.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = operations.ask(&verb).await.unwrap();
        let ours = if answer.is_done() {
            Outcome::Done(String::from_utf8(answer.body.to_vec()).unwrap())
        } else {
            Outcome::Refused(refusal(&answer.status()))
        };
        let difference =
            Outcome::difference(&theirs, &ours).map(|difference| format!("logs {verb}: {difference}"));
        tally.add_plain("logs", if kind == "pod" { "Pod" } else { "Deployment" }, difference);
    }
}

fn questions() -> Vec<Question> {
    let of = |target, flags, fields| Question { target, flags, fields };
    let mut questions = Vec::new();
    for (target, container) in
        [("pod/one", json!({})), ("deployment/web", json!({})), ("pod/three", json!({}))]
    {
        let with = |fields: Value| {
            let mut all = container.clone();
            all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            all
        };
        questions.extend([
            of(target, &[], with(json!({}))),
            of(target, &["--tail=7"], with(json!({ "tailLines": 7 }))),
            of(target, &["--tail=0"], with(json!({ "tailLines": 0 }))),
            of(target, &["--limit-bytes=1000"], with(json!({ "limitBytes": 1000 }))),
            of(target, &["--timestamps", "--tail=3"], with(json!({ "timestamps": true, "tailLines": 3 }))),
            of(
                target,
                &["--since-time=2026-01-01T00:08:00Z"],
                with(json!({ "sinceTime": "2026-01-01T00:08:00Z" })),
            ),
            of(target, &["--previous"], with(json!({ "previous": true }))),
        ]);
    }
    questions.extend([
        of("pod/two", &[], json!({})),
        of("pod/two", &["-c", "proxy"], json!({ "container": "proxy" })),
        of("pod/two", &["-c", "proxy", "--tail=2"], json!({ "container": "proxy", "tailLines": 2 })),
        of("pod/two", &["-c", "absent"], json!({ "container": "absent" })),
        of("pod/absent", &[], json!({})),
        of("deployment/absent", &[], json!({})),
    ]);
    questions
}

fn theirs(output: &Output) -> Outcome {
    if output.status.success() {
        return Outcome::Done(String::from_utf8(output.stdout.clone()).unwrap());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    // Here kubectl begins its sentences in more than one way.
    let lower = message.to_lowercase();
    let start = lower.find("error from server (").map(|start| start + "error from server (".len());
    let reason =
        start.and_then(|start| message[start..].split_once(')')).map(|(reason, _)| reason.to_owned());
    Outcome::Refused(Refusal { reason, message, causes: Vec::new() })
}

fn pod(name: &str, containers: &[&str]) -> Value {
    let containers: Vec<_> =
        containers.iter().map(|name| json!({ "name": name, "image": "chatty:1" })).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": containers },
    })
}

/// A pod that says which of its containers people mean.
fn defaulted(mut pod: Value) -> Value {
    pod["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/default-container": "proxy" });
    pod
}

// === impl Words ===

impl LogSource for Words {
    fn lines(&self, _pod: &Value, container: &str, _run: Run) -> Vec<LogLine> {
        let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let line = |second| LogLine {
            time: begin + SignedDuration::from_secs(second),
            text: format!("{container} says {second}: zürich <b> \u{1F30A}"),
        };
        (0..LINES).map(line).collect()
    }

    fn follow(&self, _pod: &Value, _container: &str) -> BoxStream<'static, LogLine> {
        stream::pending().boxed()
    }
}
