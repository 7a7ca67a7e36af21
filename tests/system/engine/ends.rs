//! Watches end with their account, session or kind.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, eventually};

use crate::support::{LONG, Stack, account};

/// Number of open watches of a resource that no other client watches.
async fn open_watches(cluster: &Cluster, plural: &str) -> u64 {
    let page = cluster.kubectl(&["get", "--raw", "/metrics"]).await.unwrap();
    let of_it = |line: &&str| {
        line.starts_with("apiserver_longrunning_requests{")
            && line.contains(&format!("resource=\"{plural}\""))
            && line.contains("verb=\"WATCH\"")
    };
    page.lines().filter(of_it).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_hub_leaves_no_watch_behind() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let mut stack = Stack::with_settings(&["CronJob"], json!([account("main", &cluster)]), &[]).await;
    stack.synced("main").await;
    assert_eq!(open_watches(&cluster, "cronjobs").await, 1);

    // The link fails: no zombie goes on watching, and each session has one watch, not one more.
    for _ in 0..2 {
        stack.link.cut();
        eventually!("the watch has ended", LONG, open_watches(&cluster, "cronjobs").await == 0);
        stack.link.heal();
        stack.synced("main").await;
        eventually!("there is one watch", LONG, open_watches(&cluster, "cronjobs").await == 1);
    }

    // A standby watches nothing.
    let standby =
        AgentProcess::start("agent-b", stack.hub.grpc(), &json!([account("main", &cluster)])).unwrap();
    standby.daemon().wait_for_log("standing by").await.unwrap();
    assert_eq!(open_watches(&cluster, "cronjobs").await, 1);
    stack.agent.kill();
    eventually!("the standby follows", LONG, {
        let watches = standby.get("/watches").await.unwrap();
        watches["main"]["watching"].as_array().is_some_and(|watches| watches.len() == 1)
    });
    eventually!("there is one watch", LONG, open_watches(&cluster, "cronjobs").await == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watches_of_an_account_that_leaves_end_and_the_others_go_on() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let of_kind = |name: &str, kind: &str| {
        let mut account = account(name, &cluster);
        account["kinds"] = json!([kind]);
        account
    };
    let (leaving, steady) = (of_kind("leaving", "CronJob"), of_kind("steady", "Deployment"));
    let mut stack = Stack::with_settings(&["CronJob", "Deployment"], json!([leaving, steady]), &[]).await;
    stack.synced("leaving").await;
    stack.synced("steady").await;
    assert_eq!(open_watches(&cluster, "cronjobs").await, 1);
    assert_eq!(open_watches(&cluster, "deployments").await, 1);
    let watches = stack.agent.get("/watches").await.unwrap();

    // Twice: it comes back with one watch, not with one more.
    for _ in 0..2 {
        let alone = json!([steady]);
        stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = alone).unwrap();
        eventually!("its watch has ended", LONG, open_watches(&cluster, "cronjobs").await == 0);
        assert_eq!(open_watches(&cluster, "deployments").await, 1, "the other one's goes on");
        let both = json!([leaving, steady]);
        stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = both).unwrap();
        stack.synced("leaving").await;
        eventually!("there is one watch", LONG, open_watches(&cluster, "cronjobs").await == 1);
    }
    assert_eq!(stack.agent.get("/watches").await.unwrap()["steady"], watches["steady"], "it was listed once");
    cluster.kubectl(&["create", "deployment", "late", "--image=none", "-n", "default"]).await.unwrap();
    eventually!("its changes arrive", LONG, {
        let query = [("account", "steady"), ("name", "late")];
        stack.hub.objects(&query).await.unwrap().len() == 1
    });
}
