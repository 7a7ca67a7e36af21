//! logs, from a playground whose containers write the lines of the test.

use std::sync::Arc;

use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use spindrift_model::{Content, OperationError, Outcome};
use spindrift_playground::{Cluster, ContainerRun, LogLine, LogSource, Playground};
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::ResultsDown;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::support::Bench;

/// Writes so many lines, and then those that the test sends.
struct Writer {
    lines: usize,
    more: Mutex<Option<mpsc::UnboundedReceiver<LogLine>>>,
}

impl LogSource for Writer {
    fn lines(&self, pod: &Value, container: &str, run: ContainerRun) -> Vec<LogLine> {
        let pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        (0..self.lines).map(|i| line(&format!("{pod}/{container} {run:?} {i}"))).collect()
    }

    fn follow(&self, _: &Value, _: &str) -> BoxStream<'static, LogLine> {
        let more = self.more.lock().take().expect("followed once");
        UnboundedReceiverStream::new(more).boxed()
    }
}

fn line(text: &str) -> LogLine {
    LogLine { time: Timestamp::from_second(1_700_000_000).unwrap(), text: text.into() }
}

struct LogsWorld {
    bench: Bench,
    more_tx: Option<mpsc::UnboundedSender<LogLine>>,
    _files: tempfile::TempDir,
    _shutdown: Shutdown,
}

async fn world(lines: usize) -> LogsWorld {
    let playground = Playground::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let cluster = Cluster::new("logs");
    let (more_tx, more_rx) = mpsc::unbounded_channel();
    cluster.set_logs(Arc::new(Writer { lines, more: Mutex::new(Some(more_rx)) }));
    playground.add(cluster);
    let shutdown = Shutdown::new();
    playground.start(&shutdown);
    let files = tempfile::tempdir().unwrap();
    let kubeconfig = files.path().join("kubeconfig");
    std::fs::write(&kubeconfig, playground.kubeconfig()).unwrap();
    let bench = Bench::with(&kubeconfig, json!({}), json!({})).await;
    LogsWorld { bench, more_tx: Some(more_tx), _files: files, _shutdown: shutdown }
}

impl LogsWorld {
    async fn create(&self, manifest: Value) {
        self.bench.run(json!({ "verb": "create", "manifest": manifest })).await.json();
    }

    async fn pod(&self, name: &str, created_before: u64, containers: &[&str]) {
        let containers: Vec<_> =
            containers.iter().map(|name| json!({ "name": name, "image": "web:1" })).collect();
        let annotations = json!({ "kubectl.kubernetes.io/default-container": "side" });
        self.create(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "labels": { "app": "web" }, "annotations": annotations },
            "spec": { "nodeName": "node", "containers": containers },
        }))
        .await;
        let restarts: Vec<_> = [json!({ "name": "web", "restartCount": created_before, "image": "", "imageID": "", "ready": true })].into();
        let patch = json!({ "status": { "phase": "Running", "containerStatuses": restarts } });
        let target = json!({ "kind": "Pod", "name": name });
        self.bench
            .run(json!({ "verb": "patch", "target": target, "type": "merge", "subresource": "status", "patch": patch }))
            .await
            .json();
    }
}

fn logs(kind: &str, name: &str, more: Value) -> Value {
    let mut logs = json!({ "verb": "logs", "target": { "kind": kind, "name": name } });
    logs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    logs
}

#[tokio::test]
async fn the_container_is_chosen_as_kubectl_does() {
    let world = world(2).await;
    world.pod("one", 0, &["web"]).await;
    world.pod("two", 0, &["web", "side"]).await;
    let said = async |verb| world.bench.run(verb).await.text();
    assert_eq!(said(logs("pod", "one", json!({}))).await, "one/web Current 0\none/web Current 1\n");
    assert_eq!(
        said(logs("pod", "two", json!({ "tailLines": 1 }))).await,
        "two/side Current 1\n",
        "as annotated"
    );
    assert_eq!(said(logs("po", "two", json!({ "container": "web", "limitBytes": 9 }))).await, "two/web C");
    let wrong = world.bench.run(logs("pod", "two", json!({ "container": "none" }))).await.refused();
    assert_eq!(wrong, (400, "container none is not valid for pod two".to_owned()));
    let missing = world.bench.run(logs("pod", "none", json!({}))).await.refused();
    assert_eq!(missing, (404, r#"pods "none" not found"#.to_owned()));
    let previous = world.bench.run(logs("pod", "one", json!({ "previous": true }))).await.refused();
    assert!(previous.1.contains("previous terminated container"), "{}", previous.1);
}

#[tokio::test]
async fn a_workload_speaks_through_its_best_pod() {
    let world = world(1).await;
    world.pod("calm", 0, &["web"]).await;
    world.pod("troubled", 3, &["web"]).await;
    let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": "web:1" }] } });
    let deployment = |name: &str, app: &str| {
        let mut template = template.clone();
        template["metadata"]["labels"]["app"] = app.into();
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
            "spec": { "replicas": 0, "selector": { "matchLabels": { "app": app } }, "template": template },
        })
    };
    world.create(deployment("web", "web")).await;
    world.create(deployment("empty", "empty")).await;
    let text = world.bench.run(logs("deploy", "web", json!({}))).await.text();
    assert_eq!(text, "troubled/web Current 0\n", "the one that has restarted");
    let none = world.bench.run(logs("deployment", "empty", json!({}))).await.refused();
    assert_eq!(none, (404, "no pods of deployments/empty were found".to_owned()));
    let selectless = world.bench.run(logs("namespace", "default", json!({}))).await.refused();
    assert_eq!(selectless.0, 400, "{}", selectless.1);
}

#[tokio::test]
async fn lines_are_told_while_they_are_written_and_until_nobody_listens() {
    let mut world = world(1).await;
    world.pod("live", 0, &["web"]).await;
    let follow = logs("pod", "live", json!({ "follow": true }));
    let operation = world.bench.submit(&follow);
    let part = world.bench.next().await;
    assert_eq!((part.content, &*part.chunk), (Content::Text, b"live/web Current 0\n".as_slice()));
    let more_tx = world.more_tx.take().unwrap();
    for i in 0..3 {
        more_tx.send(line(&format!("later {i}"))).unwrap();
        let part = world.bench.next().await;
        assert_eq!(part.chunk, format!("later {i}\n"), "at once, not when it ends");
        assert!(part.ending.is_none());
    }
    world.bench.executor.cancel(operation);
    assert_eq!(world.bench.next().await.ending.unwrap().outcome, OperationError::cancelled().into());
}

#[tokio::test]
async fn a_long_log_waits_for_its_reader_and_keeps_nobody_else_waiting() {
    // About 10 MB.
    let world = world(450_000).await;
    world.pod("long", 0, &["web"]).await;
    let long = world.bench.submit(&logs("pod", "long", json!({})));
    let mut bytes = 0;
    while bytes < 1024 * 1024 {
        bytes += world.bench.next().await.chunk.len();
    }
    // Its credit is used up, and others are answered.
    let other = json!({ "verb": "get", "target": { "kind": "Namespace", "name": "default" } });
    for _ in 0..20 {
        world.bench.run(other.clone()).await.json();
    }
    let results = world.bench.executor.results();
    loop {
        results.acknowledge(ResultsDown::Credit(long, bytes as u64 + 256 * 1024));
        let part = world.bench.next().await;
        assert_eq!((part.operation, part.offset), (long, bytes as u64));
        bytes += part.chunk.len();
        if let Some(ending) = part.ending {
            assert_eq!(ending.outcome, Outcome::Succeeded { code: 200 });
            break;
        }
    }
    let expected: usize = (0..450_000_usize).map(|i| format!("long/web Current {i}\n").len()).sum();
    assert_eq!(bytes, expected);
}
