//! Values of a Secret are not in the agent's memory either; objects that repeat them are there only for a short time.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{StreamExt, TryStreamExt, stream};
use regex::bytes::Regex;
use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};
use tokio::time::Instant;

use crate::support::{LONG, Stack};

const SECRETS: usize = 1000;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Time in which other traffic overwrites the buffers of open connections.
const A_MINUTE_OF_TRAFFIC: Duration = Duration::from_secs(90);

/// Other objects that change in each round of traffic.
const OTHERS: usize = 98;

/// Requests to the API server at a time.
const AT_A_TIME: usize = 16;

/// Words of this run that are looked for; each stands in many values, with a number behind it.
struct Words {
    data: String,
    applied: String,
    control: String,
}

/// Address of a word that was found, and the bytes before it.
#[derive(Debug)]
#[expect(dead_code, reason = "shown when the test fails")]
struct Found {
    map: String,
    before: String,
}

// === impl Words ===

impl Words {
    fn new() -> Self {
        let word = || std::iter::repeat_with(fastrand::alphanumeric).take(30).collect();
        Self { data: word(), applied: word(), control: word() }
    }

    fn secret(&self, number: usize) -> Value {
        let applied = json!({ "stringData": { "key": format!("{}{number}", self.applied) } }).to_string();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": format!("secret-{number}"), "annotations": { LAST_APPLIED: applied } },
            "data": { "key": BASE64_STANDARD.encode(format!("{}{number}", self.data)) },
        })
    }

    /// The value as it is, and the base64 of any text that begins with it.
    fn data_forms(&self) -> [String; 2] {
        [self.data.clone(), BASE64_STANDARD.encode(&self.data)]
    }
}

/// Creates or replaces an object of the core group, the way kubectl does not: many at a time.
async fn write(cluster: &Cluster, namespace: &str, plural: &str, object: &Value) -> anyhow::Result<()> {
    let name = object["metadata"]["name"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/{plural}/{name}?fieldManager=test&force=true");
    let request = http::Request::patch(path)
        .header("content-type", "application/apply-patch+yaml")
        .body(object.to_string().into_bytes())?;
    cluster.client().request::<Value>(request).await?;
    Ok(())
}

/// Looks for a text in all memory of a process that can be read, except where only a file can be seen.
fn find(pid: u32, text: &str) -> Vec<Found> {
    const PIECE: usize = 1 << 20;
    let needle = Regex::new(&regex::escape(text)).unwrap();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let (mut found, mut read) = (Vec::new(), 0);
    for map in maps.lines() {
        let [range, flags, ..] = map.split(' ').collect::<Vec<_>>()[..] else { panic!("no map: {map}") };
        if !flags.starts_with('r') || !flags.contains('w') && map.contains('/') {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let [mut at, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        let mut buffer = vec![0; PIECE + text.len()];
        while at < end {
            let length = usize::try_from(end - at).unwrap().min(buffer.len());
            // Maps of the kernel's own (vvar), and those that went meanwhile, cannot be read.
            let Ok(length) = memory.read_at(&mut buffer[..length], at) else { break };
            found.extend(needle.find_iter(&buffer[..length]).map(|hit| {
                let before = &buffer[hit.start().saturating_sub(200)..hit.start()];
                Found { map: map.into(), before: before.escape_ascii().to_string() }
            }));
            read += length;
            // A word across two pieces is found in the second.
            at += length.min(PIECE) as u64;
        }
    }
    assert!(read > 1 << 20, "the memory of process {pid} could not be read");
    found
}

/// Other objects that come the same way: of both kinds and of every size, and never the same.
async fn traffic(cluster: &Cluster, namespace: &str, round: usize) {
    let changes = stream::iter(0..OTHERS).map(|i| async move {
        // From some bytes to some 60,000, evenly over the orders of magnitude.
        let filling = format!("{round}.{i} ").repeat(1 << (i % 14));
        let name = format!("other-{i}");
        let (plural, object) = if i % 2 == 0 {
            let metadata = json!({ "name": name, "annotations": { "example.com/filling": filling } });
            ("secrets", json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata }))
        } else {
            let data = json!({ "filling": filling });
            let metadata = json!({ "name": name });
            (
                "configmaps",
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
            )
        };
        write(cluster, namespace, plural, &object).await
    });
    changes.buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_secrets_values_is_in_the_agents_memory() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("memory").await.unwrap();
    let words = &Words::new();
    stream::iter(0..SECRETS)
        .map(|number| async move { write(cluster, namespace, "secrets", &words.secret(number)).await })
        .buffer_unordered(AT_A_TIME)
        .try_collect::<Vec<()>>()
        .await
        .unwrap();

    let account =
        json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [namespace] }]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["Secret", "ConfigMap"], account).await;
    stack.synced("main").await;
    let secrets = [("account", "main"), ("kind", "Secret"), ("namespace", namespace.as_str())];
    eventually!("all secrets are in the hub", LONG, {
        stack.hub.objects(&secrets).await.is_ok_and(|found| found.len() >= SECRETS)
    });

    // The word that was just sent must be found, or the search proves nothing.
    let control = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "control" }, "data": { "key": words.control },
    });
    write(cluster, namespace, "configmaps", &control).await.unwrap();
    let pid = stack.agent.daemon().pid();
    eventually!("an object that passes is found", LONG, !find(pid, &words.control).is_empty());

    for form in words.data_forms() {
        let found = find(pid, &form);
        assert!(found.is_empty(), "values in data, which were never asked for: {found:?}");
    }
    println!("right after the sync, {} repeated values are left", find(pid, &words.applied).len());

    let began = Instant::now();
    for round in 0.. {
        let found = find(pid, &words.applied);
        if found.is_empty() {
            println!("after {round} rounds of other traffic, in {:?}, none is", began.elapsed());
            break;
        }
        assert!(
            began.elapsed() < A_MINUTE_OF_TRAFFIC,
            "after {round} rounds, {} repeated values are still there: {found:#?}",
            found.len(),
        );
        println!("{} are left after {round} rounds and {:?}", found.len(), began.elapsed());
        traffic(cluster, namespace, round).await;
    }
    for form in words.data_forms() {
        assert!(find(pid, &form).is_empty(), "values in data");
    }
}
