//! Answers of any size, and more operations at once than anybody needs, while the cache goes on streaming.

pub(crate) mod playground;
mod turns;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};
use spindrift_playground::{Key, LogLine};
use spindrift_testkit::{AgentProcess, Cluster, Database, Operations, eventually};
use tokio::time::Instant;

use crate::support::{LONG, Stack, config_maps};
use playground::{Playground, Written};

/// More than any message between agent and hub may have.
const BIG: usize = 1 << 20;
const MAPS: usize = 21;

const OPERATIONS: usize = 1000;
/// As many people would ask one after the other.
const PROBES: usize = 200;

/// Prints a duration as a figure.
fn figure(name: &str, value: Duration) {
    println!("figure {name} = {:.2} ms", value.as_secs_f64() * 1e3);
}

fn percentile(mut durations: Vec<Duration>, percent: usize) -> Duration {
    durations.sort_unstable();
    let rank = (durations.len() * percent).div_ceil(100);
    durations.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Number of the agent's pings that were answered.
fn pongs(agent: &AgentProcess) -> usize {
    agent.daemon().log().lines().filter(|line| line.contains("pong")).count()
}

/// Number of objects that the hub has passed to its store.
async fn upserted(stack: &Stack) -> u64 {
    stack.hub.metric("spindrift_hub_objects_upserted_total").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_20_megabytes_arrives_whole() {
    // A cluster of its own: others list all that is in theirs.
    let cluster = &Cluster::start().await.unwrap();
    let namespace = &cluster.namespace("large").await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["Service"]).await;
    stack.synced("main").await;
    for number in 0..MAPS {
        let value: String = std::iter::repeat_with(fastrand::alphanumeric).take(BIG - 2048).collect();
        let map = config_maps(namespace, &format!("big-{number}"), 1, &value);
        cluster.kubectl_stdin(&["create", "-f", "-"], &map).await.unwrap();
    }
    let before = stack.agent.daemon().rss_bytes().unwrap();
    let verb = json!({ "verb": "list", "kind": "ConfigMap", "namespace": namespace });
    let begun = Instant::now();
    let answer = stack.hub.operations("main").within(LONG).ask(&verb).await.unwrap();
    figure("operations-list-20-megabytes", begun.elapsed());
    assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body[..answer.body.len().min(500)]));
    assert!(answer.body.len() > 20_000_000, "{} bytes", answer.body.len());
    let grown = stack.agent.daemon().peak_rss_bytes().unwrap().saturating_sub(before);
    println!("figure operations-list-agent-memory = {} MB (goal 16 MB)", grown / 1_000_000);

    let list: Value = serde_json::from_slice(&answer.body).unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let raw: Value =
        cluster.client().request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
    let told = |list: &Value| -> Vec<_> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| {
                (
                    item["metadata"]["name"].clone(),
                    item["metadata"]["resourceVersion"].clone(),
                    item["data"].clone(),
                )
            })
            .collect()
    };
    let (told, raw) = (told(&list), told(&raw));
    // Controllers may have put one of their own beside them.
    assert!(told.len() >= MAPS, "{} of {MAPS}", told.len());
    assert!(told == raw, "the answer has what the API server has");
}

/// Starts a pod that has written 10 MB, and returns its log.
async fn chatter(cluster: &spindrift_playground::Cluster) -> String {
    let start = jiff::Timestamp::UNIX_EPOCH;
    let line = |second: i64| LogLine {
        time: start + jiff::SignedDuration::from_secs(second),
        text: format!("{second:>9} {}", "blub ".repeat(18)),
    };
    let lines: Vec<_> = (0..105_000).map(line).collect();
    let text: String = lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
    assert!(text.len() > 10_000_000);
    cluster.set_logs(Arc::new(Written(lines)));
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "chatty", "namespace": "default" },
        "spec": { "containers": [{ "name": "main", "image": "chatty:1" }] },
    });
    cluster.create(pod).unwrap();
    let key = Key::new("", "pods", "default", "chatty");
    eventually!(
        "the pod runs",
        LONG,
        cluster.get(&key).is_some_and(|pod| pod["status"]["phase"] == "Running")
    );

    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_10_megabytes_arrives_whole() {
    let playground = Playground::start().await;
    let stack =
        Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], playground.accounts()).await;
    stack.synced(playground.name()).await;
    let text = chatter(&playground.cluster()).await;
    let verb =
        json!({ "verb": "logs", "target": { "kind": "Pod", "namespace": "default", "name": "chatty" } });
    let begun = Instant::now();
    let answer = stack.hub.operations(playground.name()).within(LONG).ask(&verb).await.unwrap();
    figure("operations-log-10-megabytes", begun.elapsed());
    assert_eq!(answer.code, 200);
    assert!(answer.body == text.as_bytes(), "{} bytes of {}", answer.body.len(), text.len());
}

/// Small operations, one after the other.
async fn probe(hub: &Operations, namespace: &str, count: usize) -> Vec<Duration> {
    let verb =
        json!({ "verb": "get", "target": { "kind": "ConfigMap", "namespace": namespace, "name": "map-0" } });
    let mut took = Vec::new();
    for _ in 0..count {
        let begun = Instant::now();
        let answer = hub.ask(&verb).await.unwrap();
        assert_eq!(answer.code, 200);
        took.push(begun.elapsed());
    }
    took
}

/// Small operations, one after the other, as long as something else takes.
async fn probe_during(hub: &Operations, namespace: &str, load: impl Future<Output = ()>) -> Vec<Duration> {
    let over = AtomicBool::new(false);
    let load = async {
        load.await;
        over.store(true, Ordering::Relaxed);
    };
    let probes = async {
        let mut took = Vec::new();
        while !over.load(Ordering::Relaxed) {
            took.extend(probe(hub, namespace, 1).await);
        }
        took
    };
    tokio::join!(load, probes).1
}

/// Changes one object after the other, for the cache to stream.
async fn stream_changes(cluster: &Cluster, namespace: &str) -> std::convert::Infallible {
    let client = cluster.client();
    let mut number = 0_usize;
    loop {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/streamed-{}", number % 20);
        let body = json!({ "data": { "value": format!("{number} {}", "x".repeat(4000)) } }).to_string();
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        client.request::<Value>(request.body(body.into_bytes()).unwrap()).await.unwrap();
        number += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_operations_at_once_are_answered_while_the_cache_streams() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("busy").await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    for prefix in ["map", "streamed"] {
        cluster
            .kubectl_stdin(&["create", "-f", "-"], &config_maps(namespace, prefix, 20, "x"))
            .await
            .unwrap();
    }
    stack.synced("main").await;
    // Who comes last waits for a thousand others, on a machine that may be slow.
    let hub = stack.hub.operations("main").within(Duration::from_mins(5));
    figure("operations-p99-idle", percentile(probe(&hub, namespace, PROBES).await, 99));

    let (stored, pings) = (upserted(&stack).await, pongs(&stack.agent));
    let verb = |number: usize| {
        let target =
            json!({ "kind": "ConfigMap", "namespace": namespace, "name": format!("map-{}", number % 20) });
        match number % 4 {
            0 => {
                json!({ "verb": "patch", "type": "merge", "target": target, "patch": { "data": { "last": number.to_string() } } })
            }
            1 => json!({ "verb": "apply", "mode": "client-side", "manifest": {
                "apiVersion": "v1", "kind": "ConfigMap", "data": { "number": number.to_string() },
                "metadata": { "name": format!("applied-{number}"), "namespace": namespace },
            } }),
            2 => {
                json!({ "verb": "list", "kind": "ConfigMap", "namespace": namespace, "labelSelector": "batch=map" })
            }
            _ => json!({ "verb": "get", "target": target }),
        }
    };
    let all = async {
        let answers = (0..OPERATIONS).map(|number| {
            let (hub, verb) = (&hub, verb(number));
            async move {
                let answer = hub.ask(&verb).await.unwrap();
                assert!(answer.is_done(), "{verb}: {}", String::from_utf8_lossy(&answer.body));
            }
        });
        join_all(answers).await;
    };
    let begun = Instant::now();
    let took = tokio::select! {
        biased;
        never = stream_changes(cluster, namespace) => match never {},
        took = probe_during(&hub, namespace, all) => took,
    };
    println!("figure operations-at-once = {OPERATIONS} in {:.2} s", begun.elapsed().as_secs_f64());
    figure("operations-p99-loaded", percentile(took, 99));
    eventually!("the cache streamed meanwhile", LONG, upserted(&stack).await > stored);
    eventually!("pings were answered meanwhile", LONG, pongs(&stack.agent) > pings);
    let list = format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=!batch");
    let applied: Value =
        cluster.client().request(http::Request::get(list).body(Vec::new()).unwrap()).await.unwrap();
    assert_eq!(applied["items"].as_array().unwrap().len(), OPERATIONS / 4);
}
