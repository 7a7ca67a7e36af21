//! Generated pods take no memory; alone in its process, since it measures the memory of the process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::{fs, time::Duration};

use futures::StreamExt;
use spindrift_playground::{
    Load,
    fleet::{self, Content, FleetOptions, Pods},
};
use spindrift_process::shutdown::Shutdown;

const PODS: u32 = 100_000;

/// Peak resident memory of this process in megabytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix(" kB")).unwrap();
    peak.trim().parse::<u64>().unwrap() / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_pods_are_sent_and_never_held() {
    spindrift_process::tls::install_provider();
    let shutdown = Shutdown::new();
    let load = Load { changes_per_second: 100.0, churn: 0.1 };
    let content = Content::Pods(Pods { pods: PODS, pod_bytes: 12_288, namespaces: 10, load });
    let fleet = fleet::start(FleetOptions { content, ..FleetOptions::shops(1) }, &shutdown).await.unwrap();
    let before = peak();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let pods = format!("http://{}/clusters/eu-west/api/v1/pods", fleet.address());
    let streamed = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=600";
    for query in ["", streamed] {
        let answer = client.get(format!("{pods}?{query}")).send().await.unwrap();
        let mut body = answer.error_for_status().unwrap().bytes_stream();
        let wanted = u64::from(PODS) * 12_000;
        let mut received = 0;
        while received < wanted {
            received += body.next().await.expect("more pods").unwrap().len() as u64;
        }
    }
    let grown = peak() - before;
    // All pods together would have 1,200 MB.
    assert!(grown < 100, "{grown} MB for a list");
    shutdown.trigger();
    shutdown.wait(Duration::from_secs(10)).await.unwrap();
}
