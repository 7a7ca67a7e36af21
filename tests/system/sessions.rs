//! A session as the agent keeps it: one for each registration, alive by pings.

use std::time::Duration;

use serde_json::json;
use spindrift_testkit::{
    AgentMessage, AgentProcess, Cluster, Database, HubProcess, HubScript, ScriptedHub, eventually,
};
use tokio::time::timeout;

use crate::{
    scripted_agent::name,
    support::{LONG, account},
};

#[tokio::test(flavor = "multi_thread")]
async fn several_answers_to_one_registration_start_an_account_once() {
    let cluster = Cluster::shared().await.unwrap();
    let script = HubScript { heartbeat: Duration::from_millis(100), repeats: 2 };
    let mut hub = ScriptedHub::start(script).await.unwrap();
    let agent = AgentProcess::start("agent-a", hub.addr(), &json!([account("main", cluster)])).unwrap();
    // Ten pings after the account was attached, so that further messages had their time.
    let (mut messages, mut pings) = (Vec::new(), 0);
    while pings < 10 {
        match timeout(LONG, hub.next_or_ping()).await.expect("the session lives").unwrap() {
            AgentMessage::Ping if messages.len() < 2 => {}
            AgentMessage::Ping => pings += 1,
            message => messages.push(message),
        }
    }
    let main = name("main");
    assert_eq!(messages, [AgentMessage::Register(vec![main.clone()]), AgentMessage::Attach(main)]);
    assert_eq!(agent.daemon().log().matches("starting agentCreator main").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keep_alive_of_zero_leaves_the_pace_of_pings_to_the_hub() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let settings = json!({
        "clouddriver": { "grpc": hub.grpc(), "keepAliveHeartbeatSeconds": 0, "keepAliveTimeOutSeconds": 0 },
        "kubernetes": { "accounts": [account("main", cluster)] },
        "logging": { "level": "debug" },
    });
    let agent = AgentProcess::with_settings("agent-a", settings).unwrap();
    // More than the three whose absence would end the session.
    eventually!("pings go on", LONG, agent.daemon().log().matches("msg=pong").count() > 4);
    let connections = agent.metric("kubesvc_connection_count").await.unwrap();
    assert_eq!(connections, 1, "the session is the first one");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_name_are_shown_on_both_sides() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let start = || AgentProcess::start("agent-a", hub.grpc(), &json!([account("main", cluster)])).unwrap();
    let agents = [start(), start()];
    eventually!("the hub shows the problem", LONG, {
        let shown = hub.get("/v1/agents").await.unwrap_or_default();
        let problem = shown.pointer("/0/problem").and_then(|problem| problem.as_str()).map(str::to_owned);
        problem.is_some_and(|problem| problem.contains("two processes register under this name"))
    });
    hub.daemon().wait_for_log("two processes register under this name").await.unwrap();
    for agent in &agents {
        eventually!("the agent shows the problem", LONG, {
            let health = agent.get("/health").await.unwrap_or_default();
            let reason = health.pointer("/link/lastDisconnect/reason").and_then(|reason| reason.as_str());
            reason.is_some_and(|reason| reason.contains("another process has registered as agent agent-a"))
        });
        agent.daemon().wait_for_log("another process has registered as agent agent-a").await.unwrap();
    }
}
