//! Back-pressure from the store to the API server: who is slow makes others wait for nothing, and costs no memory.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use serde_json::{Value, json};
use spindrift_playground::{
    Load, Population,
    fleet::{self, Content, Fleet, FleetOptions, Pods},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{AgentProcess, Database, HubProcess, eventually, scratch};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::support::{LONG, Stack};

/// Some megabytes of pods in each cluster, which all change all the time.
const PODS: u32 = 300;

/// Growth that an allocator may cause in a process whose data does not grow.
const NOISE: u64 = 6 << 20;

/// Objects by uid and version.
type Versions = BTreeSet<(String, String)>;

/// Simulated clusters with an account for each, by the name of the cluster.
struct Clusters {
    fleet: Fleet,
    accounts: Value,
    _kubeconfig: TempDir,
    _shutdown: Shutdown,
}

// === impl Clusters ===

impl Clusters {
    async fn start(clusters: usize) -> Self {
        let shutdown = Shutdown::new();
        let load = Load { changes_per_second: 0.0, churn: 0.0 };
        let content = Content::Pods(Pods { pods: PODS, pod_bytes: 12_000, namespaces: 3, load });
        let options = FleetOptions { clusters, content, ..FleetOptions::shops(clusters) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let directory = scratch("kubeconfig").unwrap();
        let file = directory.path().join("config");
        std::fs::write(&file, fleet.kubeconfig()).unwrap();
        let account = |name: &str| json!({ "name": name, "kubeconfigFile": file, "context": name });
        let accounts = fleet.names().map(account).collect();
        Self { fleet, accounts, _kubeconfig: directory, _shutdown: shutdown }
    }

    fn name(&self, cluster: usize) -> &str {
        self.fleet.clusters[cluster].name()
    }

    /// Waits until the hub has the pods of the cluster.
    async fn converges(&self, hub: &HubProcess, cluster: usize) {
        let name = self.name(cluster);
        let url = format!("{}/api/v1/pods", self.fleet.playground.url(name));
        eventually(&format!("{name} converges"), LONG, || async {
            let list: Value = reqwest::get(&url).await?.json().await?;
            let pods = list["items"].as_array().into_iter().flatten();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let living: Versions = pods
                .map(|pod| (text(&pod["metadata"]["uid"]), text(&pod["metadata"]["resourceVersion"])))
                .collect();
            let stored = stored(hub, name).await?;
            anyhow::ensure!(stored == living, "{} differ", stored.symmetric_difference(&living).count());
            Ok(())
        })
        .await;
    }
}

async fn stored(hub: &HubProcess, account: &str) -> anyhow::Result<Versions> {
    let objects = hub.objects(&[("account", account), ("limit", "1000")]).await?;
    Ok(objects.into_iter().map(|object| (object.uid, object.resource_version)).collect())
}

/// Changes all pods, over and over, as fast as a machine with other things to do may take.
async fn flood(population: &Population) -> Infallible {
    loop {
        for index in 0..PODS {
            population.touch(index);
            if index % 10 == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// Number of the agent's pings that were answered.
fn pongs(agent: &AgentProcess) -> usize {
    agent.daemon().log().lines().filter(|line| line.contains("pong")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_database_stops_the_reading_and_nothing_else() {
    let clusters = Clusters::start(1).await;
    let database = Database::postgres_dedicated().await.unwrap();
    let stack = Stack::with_accounts(database, &["Pod"], clusters.accounts.clone()).await;
    clusters.converges(&stack.hub, 0).await;

    let population = &clusters.fleet.populations[0];
    let frozen = async {
        stack.database.freeze().unwrap();
        eventually!("the credit is used up", LONG, {
            stack.agent.metric("spindrift_agent_lag_bytes").await.unwrap() > 400_000
        });
        let (rss, pings) = (stack.agent.daemon().rss_bytes().unwrap(), pongs(&stack.agent));
        // More than the three pings whose silence would end the session on either side.
        eventually!("pings are answered though nothing is committed", LONG, pongs(&stack.agent) >= pings + 5);
        let (lag, queued) = (
            stack.agent.metric("spindrift_agent_lag_bytes").await.unwrap(),
            stack.agent.metric("spindrift_agent_queue_bytes").await.unwrap(),
        );
        assert!(lag < 600_000 && queued < 600_000, "what waits is bounded: {lag}, {queued}");
        let now = stack.agent.daemon().rss_bytes().unwrap();
        assert!(now < rss + NOISE, "{now} after {rss}");
        assert_eq!(stack.agent.metric("kubesvc_connection_count").await.unwrap(), 1, "the session lives");
        stack.database.thaw().unwrap();
    };
    tokio::select! {
        never = flood(population) => match never {},
        () = frozen => {}
    }
    clusters.converges(&stack.hub, 0).await;
    assert_eq!(stack.agent.metric("kubesvc_connection_count").await.unwrap(), 1, "still the same session");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_floods_leaves_another_one_quick() {
    let clusters = Clusters::start(2).await;
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["Pod"], clusters.accounts.clone()).await;
    let (loud, calm) = (clusters.name(0), clusters.name(1));
    clusters.converges(&stack.hub, 0).await;
    clusters.converges(&stack.hub, 1).await;
    let [flooding, quiet] = &*clusters.fleet.populations else { panic!("two clusters") };
    let rounds = async {
        for index in 0..10 {
            let (loud_before, calm_before) =
                (stored(&stack.hub, loud).await.unwrap(), stored(&stack.hub, calm).await.unwrap());
            quiet.touch(index);
            eventually!("the calm account's change is stored while the other floods", LONG, {
                stored(&stack.hub, calm).await.unwrap() != calm_before
            });
            eventually!("the flood goes on", LONG, stored(&stack.hub, loud).await.unwrap() != loud_before);
        }
    };
    tokio::select! {
        never = flood(flooding) => match never {},
        () = rounds => {}
    }
    clusters.converges(&stack.hub, 0).await;
    clusters.converges(&stack.hub, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_away_costs_no_memory_and_no_watch() {
    let clusters = Clusters::start(1).await;
    let mut stack =
        Stack::with_accounts(Database::sqlite().unwrap(), &["Pod"], clusters.accounts.clone()).await;
    clusters.converges(&stack.hub, 0).await;
    stack.hub.kill();
    let Stack { agent, .. } = &stack;
    let away = async {
        eventually!("no watch is open", LONG, agent.metric("kubesvc_watches").await.unwrap() == 0);
        assert_eq!(agent.metric("spindrift_agent_lag_bytes").await.unwrap(), 0, "nothing is kept for later");
        let rss = agent.daemon().rss_bytes().unwrap();
        let attempts = |agent: &AgentProcess| {
            agent.daemon().log().lines().filter(|line| line.contains("registration failed")).count()
        };
        let before = attempts(agent);
        eventually!("it keeps trying", LONG, attempts(agent) >= before + 5);
        let now = agent.daemon().rss_bytes().unwrap();
        assert!(now < rss + NOISE, "{now} after {rss}");
    };
    tokio::select! {
        never = flood(&clusters.fleet.populations[0]) => match never {},
        () = away => {}
    }
    stack.hub.restart().await.unwrap();
    clusters.converges(&stack.hub, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_link_lets_pings_pass_while_a_listing_goes_on() {
    let clusters = Clusters::start(1).await;
    let settings = [("/kubesvc/cache/cacheKinds", json!(["Pod"]))];
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let link = spindrift_testkit::FaultProxy::start(hub.grpc()).await.unwrap();
    // Some megabytes of pods keep it busy for longer than the silence that would end the session.
    link.throttle(200_000);
    let agent = AgentProcess::with_settings(
        "agent-a",
        json!({
            "clouddriver": { "grpc": link.addr().to_string(), "compression": false },
            "kubernetes": { "accounts": clusters.accounts },
            "logging": { "level": "debug" },
        }),
    )
    .unwrap();
    let name = clusters.name(0);
    eventually!("the listing has begun", LONG, !stored(&hub, name).await.unwrap().is_empty());
    let (began, before) = (Instant::now(), pongs(&agent));
    let mut answered = before;
    loop {
        let now = pongs(&agent);
        if stored(&hub, name).await.unwrap().len() == PODS as usize {
            break;
        }
        answered = now;
        assert!(began.elapsed() < LONG, "the listing does not end");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        answered >= before + 2,
        "{before} pings were answered, then {answered}, in {:?}",
        began.elapsed()
    );
    clusters.converges(&hub, 0).await;
    assert_eq!(agent.metric("kubesvc_connection_count").await.unwrap(), 1, "the session lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_shares_memory_among_its_threads() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("thrifty", &database, &[]).await.unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", hub.daemon().pid())).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.split('\0').any(|entry| entry == "MALLOC_ARENA_MAX=2"), "{environment}");
}
