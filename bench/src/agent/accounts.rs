//! Many accounts in one agent: cost of each, and time until all are watched.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    figure::{Figure, megabytes},
    playground::process::Process,
    stack::{ProcessMemory, Stack},
};

/// Kinds that are watched of each account.
const KINDS: [&str; 10] = [
    "ConfigMap",
    "Deployment",
    "Ingress",
    "Namespace",
    "Pod",
    "ReplicaSet",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
];

struct Watched {
    took: Duration,
    memory: ProcessMemory,
}

pub(super) async fn measure(accounts: usize) -> anyhow::Result<[Figure; 3]> {
    // Shops without changes: the cost of accounts is measured, not that of changes.
    let (playground, _) = Process::start(&["--clusters", &accounts.to_string(), "--pace", "0"]).await?;
    let kubeconfig = playground.kubeconfig().await?;
    let account = |name: &String| json!({ "name": name, "kubeconfigFile": kubeconfig, "context": name });
    let all: Vec<Value> = playground.clusters().await?.iter().map(account).collect();
    let one = watch(&all[..1]).await?;
    let many = watch(&all).await?;
    let figure = |name: &str, value: f64, unit, peer: f64, goal| Figure {
        name: format!("accounts-{accounts}-{name}"),
        value,
        unit,
        peer,
        ratio: value / peer,
        goal,
    };
    // Beyond the first account, whose agent is the peer.
    let grown = |of: fn(&ProcessMemory) -> u64| {
        let first = megabytes(of(&one.memory));
        (megabytes(of(&many.memory)) - first, first)
    };
    let ((rss, first_rss), (peak, first_peak)) = (grown(|memory| memory.now), grown(|memory| memory.peak));
    Ok([
        figure("rss", rss, "MB", first_rss, "30 MB"),
        figure("peak-rss", peak, "MB", first_peak, "30 MB"),
        figure("start", many.took.as_secs_f64(), "s", one.took.as_secs_f64(), "10 s"),
    ])
}

async fn watch(accounts: &[Value]) -> anyhow::Result<Watched> {
    let stack = Stack::with_accounts(&json!(accounts), &KINDS).await?;
    let took = stack.watches(accounts.len() * KINDS.len()).await?;
    let memory = ProcessMemory::at_rest(stack.agent()).await?;
    let (now, peak) = (megabytes(memory.now), megabytes(memory.peak));
    eprintln!(
        "{} accounts with {} kinds each: watched in {took:.2?}, {now:.2} MB at rest, {peak:.2} MB at most",
        accounts.len(),
        KINDS.len()
    );
    Ok(Watched { took, memory })
}
