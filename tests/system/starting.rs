//! Many accounts that start together: within budgets, in groups, with little memory.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_playground::{Timing, fleet::Content};
use spindrift_testkit::eventually;
use tokio::time::Instant;

use crate::{engine::Stage, support::Stack};

/// Long enough for a hundred accounts on a loaded machine.
const VERY_LONG: Duration = Duration::from_mins(4);

/// Ten kinds of a playground cluster.
const KINDS: [&str; 10] = [
    "ConfigMap",
    "Deployment",
    "Event",
    "Namespace",
    "Node",
    "Pod",
    "ReplicaSet",
    "Secret",
    "Service",
    "ServiceAccount",
];

async fn all_listed(stack: &Stack, accounts: usize, kinds: usize) {
    eventually!("all accounts are listed", VERY_LONG, {
        let shown = stack.hub.get("/v1/accounts").await?;
        let shown = shown.as_array().cloned().unwrap_or_default();
        let done = |account: &&Value| account["watches"] == kinds && account["listing"] == 0;
        let done = shown.iter().filter(done).count();
        anyhow::ensure!(done == accounts, "{done} of {accounts} accounts are listed");
        Ok(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_accounts_start_in_parallel_with_little_memory() {
    let stage = Stage::with(100, Content::Shop { timing: Timing::REAL, pace: 0.0 }).await;
    let accounts = stage.accounts();
    let megabytes = |stack: &Stack, field: &str| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", stack.agent.daemon().pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        kilobytes / 1024
    };
    let single = Stack::with_settings(&KINDS, json!(accounts[..1]), &[]).await;
    all_listed(&single, 1, KINDS.len()).await;
    let alone = megabytes(&single, "VmHWM:");
    drop(single);

    let started = Instant::now();
    let stack = Stack::with_settings(&KINDS, json!(accounts), &[]).await;
    all_listed(&stack, accounts.len(), KINDS.len()).await;
    let took = started.elapsed();
    let (peak, steady) = (megabytes(&stack, "VmHWM:"), megabytes(&stack, "VmRSS:"));
    println!("100 accounts: {took:.1?}, peak {peak} MB, steady {steady} MB; one account: peak {alone} MB");
    // In a debug build; the benchmarks measure a release build.
    assert!(peak - steady < 20, "lists that run at once leave a peak of {peak} MB above {steady} MB");
    assert!(steady - alone < 100, "{steady} MB for a hundred accounts, {alone} MB for one");
}

#[tokio::test(flavor = "multi_thread")]
async fn small_budgets_and_groups_of_accounts_lose_no_account() {
    let stage = Stage::set(6).await;
    let settings = [
        ("/tasks", json!({ "totalBudget": 2, "budgetPerAccount": 1, "queueCheckFrequencyMs": 10 })),
        ("/kubernetes/cacheGroupSize", json!(2)),
        ("/kubernetes/cacheGroupDelayMs", json!(1500)),
    ];
    let started = Instant::now();
    let stack = Stack::with_settings(&KINDS, json!(stage.accounts()), &settings).await;
    all_listed(&stack, 6, KINDS.len()).await;
    assert!(started.elapsed() > Duration::from_secs(3), "the third group waited for two pauses");
    for account in stage.accounts() {
        let name = account["name"].as_str().unwrap();
        stack.synced(name).await;
    }
}
