//! Bytes on the wire: few, since they are compressed, and since objects that the hub has are only mentioned.

use serde_json::{Value, json};
use spindrift_playground::{
    Load,
    fleet::{Content, Fleet, FleetOptions, Pods},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::{
    Cutter, DICTIONARY_METADATA, Dictionary, FINGERPRINTS_METADATA, HEARTBEATS_METADATA, v1,
};
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, assert_converged, eventually, scratch};
use tonic::Code;

use crate::{
    scripted_agent::ScriptedAgent,
    support::{CONFIG_MAPS, LONG, Stack, account, config_maps},
};

/// The value of a metric of the agent's.
async fn sent(agent: &AgentProcess) -> (u64, u64) {
    let raw = agent.metric("spindrift_agent_raw_bytes_total").await.unwrap();
    (raw, agent.metric("spindrift_agent_wire_bytes_total").await.unwrap())
}

/// One simulated cluster with so many pods of 12 KB.
async fn pods(pods: u32, shutdown: &Shutdown) -> Fleet {
    let load = Load { changes_per_second: 0.0, churn: 0.0 };
    let content = Content::Pods(Pods { pods, pod_bytes: 12_000, namespaces: 3, load });
    let options = FleetOptions { clusters: 1, content, ..FleetOptions::shops(1) };
    spindrift_playground::fleet::start(options, shutdown).await.unwrap()
}

fn attach(account: &str) -> v1::EventsMessage {
    let attach = v1::Attach { account: account.into() };
    v1::EventsMessage { message: Some(v1::events_message::Message::Attach(attach)) }
}

#[tokio::test]
async fn peers_that_do_not_know_of_compression_speak_plainly() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    for metadata in [&[][..], &[(DICTIONARY_METADATA, "7,8")]] {
        let mut old = ScriptedAgent::open(&hub, "by-hand", &["main"], metadata).await;
        assert_eq!(
            (old.metadata_of_answer(DICTIONARY_METADATA), old.metadata_of_answer(FINGERPRINTS_METADATA)),
            (None, None)
        );
        let frame = Cutter::new(None).cut(&attach("main")).next().unwrap();
        let answer = old.frame(frame).await.unwrap().unwrap().message;
        assert!(matches!(answer, Some(v1::events_down::Message::Attached(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn heartbeats_are_answered_and_an_agent_that_sends_none_gets_none() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    // An agent of 0.1 does not name heartbeats; the answer names them all the same, and does not disturb it.
    let mut old = ScriptedAgent::open(&hub, "old", &["main"], &[]).await;
    assert_eq!(old.metadata_of_answer(HEARTBEATS_METADATA), Some("yes"));
    let mut agent = ScriptedAgent::open(&hub, "new", &["main"], &[(HEARTBEATS_METADATA, "yes")]).await;
    let heartbeat = v1::EventsUp { heartbeat: true, ..v1::EventsUp::default() };
    for _ in 0..3 {
        let answer = agent.frame(heartbeat.clone()).await.unwrap().unwrap();
        assert_eq!(answer.message, Some(v1::events_down::Message::Heartbeat(v1::Nothing {})));
    }
    // In between messages, and without a word of them to the other agent.
    let frame = Cutter::new(None).cut(&attach("main")).next().unwrap();
    let answer = agent.frame(frame.clone()).await.unwrap().unwrap().message;
    assert!(matches!(answer, Some(v1::events_down::Message::Attached(_))), "{answer:?}");
    let answer = old.frame(frame).await.unwrap().unwrap().message;
    assert!(matches!(answer, Some(v1::events_down::Message::NotAttached(_))), "{answer:?}");
}

#[tokio::test]
async fn garbage_ends_the_channel_with_a_clear_error() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let offer = Dictionary::offer();
    let metadata = [(DICTIONARY_METADATA, &*offer), (FINGERPRINTS_METADATA, "yes")];
    let mut agent = ScriptedAgent::open(&hub, "by-hand", &["main"], &metadata).await;
    assert_eq!(
        (agent.metadata_of_answer(DICTIONARY_METADATA), agent.metadata_of_answer(FINGERPRINTS_METADATA)),
        (Some(&*offer), Some("yes"))
    );
    let dictionary = Dictionary::choose(&offer);
    let frame = Cutter::new(dictionary).cut(&attach("other")).next().unwrap();
    let answer = agent.frame(frame).await.unwrap().unwrap().message;
    let Some(v1::events_down::Message::NotAttached(refused)) = answer else { panic!("{answer:?}") };
    assert!(refused.reason.contains("not accepted"), "{refused:?}");

    let status =
        agent.frame(v1::EventsUp { chunk: "garbage".into(), ..v1::EventsUp::default() }).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let expected = format!("events.chunk: is not zstd with dictionary {offer}: ");
    assert!(status.message().starts_with(&expected), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_is_compressed_well_and_an_update_costs_some_hundred_bytes() {
    const PODS: u32 = 500;
    const UPDATES: u32 = 20;
    let shutdown = Shutdown::new();
    let fleet = pods(PODS, &shutdown).await;
    let directory = scratch("kubeconfig").unwrap();
    let kubeconfig = directory.path().join("config");
    std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
    let accounts = json!([{ "name": "main", "kubeconfigFile": kubeconfig }]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["Pod"], accounts).await;
    let stored = async || stack.hub.objects(&[("account", "main"), ("limit", "1000")]).await.unwrap();
    eventually!("all pods are stored", LONG, stored().await.len() == PODS as usize);
    let (raw, wire) = sent(&stack.agent).await;
    assert!(raw > u64::from(PODS) * 10_000, "{raw}");
    assert!(wire * 25 < raw, "{wire} bytes on the wire for {raw}");

    // One pod after the other changes; none of them was seen a moment ago.
    let version = |objects: &[spindrift_testkit::StoredObject]| {
        objects.iter().map(|object| object.resource_version.parse::<u64>().unwrap()).max()
    };
    for index in 0..UPDATES {
        let before = version(&stored().await);
        fleet.populations[0].touch(index * 23);
        eventually!("the change is stored", LONG, version(&stored().await) > before);
    }
    let (raw_after, wire_after) = sent(&stack.agent).await;
    let (raw, wire) = (raw_after - raw, wire_after - wire);
    assert!(raw > u64::from(UPDATES) * 10_000, "{raw}");
    assert!(wire < u64::from(UPDATES) * 700, "{wire} bytes for {UPDATES} updates");
    println!("{} bytes on the wire for each update", wire / u64::from(UPDATES));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relist_mentions_what_the_hub_has_and_sends_what_changed() {
    const OBJECTS: usize = 400;
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let database = Database::mariadb().await.unwrap();
    let engine = database.engine();
    let namespace = &cluster.namespace("relist").await.unwrap();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let value = "x".repeat(2_000);
    let maps = config_maps(namespace, "steady", OBJECTS, &value);
    cluster.kubectl_stdin(&apply, &maps).await.unwrap();
    // No resume point is young enough: every attachment lists.
    let accounts =
        json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "maxResumableResourceAgeMs": 1 }]);
    let mut stack = Stack::with_accounts(database, &["ConfigMap"], accounts).await;
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    assert_eq!(
        stack.agent.metric("spindrift_agent_mentioned_objects_total").await.unwrap(),
        0,
        "on {engine}"
    );
    let (first, _) = sent(&stack.agent).await;

    stack.agent.kill();
    let changed = config_maps(namespace, "steady", 10, "changed");
    cluster.kubectl_stdin(&apply, &changed).await.unwrap();
    cluster.kubectl(&["delete", "configmap", "steady-399", "-n", namespace]).await.unwrap();
    stack.agent.restart().unwrap();
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    let mentioned = stack.agent.metric("spindrift_agent_mentioned_objects_total").await.unwrap();
    assert!(mentioned >= (OBJECTS - 11) as u64, "{mentioned} on {engine}");
    let (second, wire) = sent(&stack.agent).await;
    assert!(second * 10 < first, "{second} bytes after {first}, on {engine}");
    println!("{engine}: {mentioned} objects mentioned in {wire} bytes");
    stack.agent.kill();
}

/// Rows vanish with the first batch that is written while a listing has begun and not ended.
const VANISHING: [&str; 3] = [
    "CREATE TABLE vanishing (once INTEGER)",
    "INSERT INTO vanishing VALUES (1)",
    "CREATE TRIGGER vanish AFTER UPDATE OF seq ON spindrift_cursor
     WHEN EXISTS (SELECT 1 FROM vanishing) AND EXISTS (SELECT 1 FROM spindrift_scope WHERE resource_version = '')
     BEGIN
       DELETE FROM spindrift_object WHERE name LIKE 'steady-1%';
       DELETE FROM vanishing;
     END",
];

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_vanish_during_a_listing_are_sent_by_the_next_one() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("vanish").await.unwrap();
    let maps = config_maps(namespace, "steady", 50, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &maps).await.unwrap();
    let database = Database::sqlite().unwrap();
    let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [namespace],
        "maxResumableResourceAgeMs": 1 }]);
    let mut stack = Stack::with_accounts(database, &["ConfigMap"], accounts).await;
    let stored = async |hub: &HubProcess| {
        let query = [("account", "main"), ("namespace", namespace.as_str()), ("limit", "1000")];
        hub.objects(&query).await.unwrap().len()
    };
    eventually!("all are stored", LONG, stored(&stack.hub).await >= 50);
    let all = stored(&stack.hub).await;
    stack.agent.kill();
    // Once, between the answer that they are there and the end of the listing that counts on it.
    for statement in VANISHING {
        stack.database.execute(statement).await.unwrap();
    }
    stack.agent.restart().unwrap();
    stack.hub.daemon().wait_for_log("a listing counted on objects that are not stored").await.unwrap();
    stack.agent.daemon().wait_for_log("account detached").await.unwrap();
    assert!(stack.agent.metric("spindrift_agent_mentioned_objects_total").await.unwrap() > 0);
    eventually!("what vanished is there again", LONG, stored(&stack.hub).await == all);
    stack.synced("main").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_another_agent_was_refused_for_cannot_be_attached_by_it() {
    let cluster = Cluster::shared().await.unwrap();
    let foreign = Cluster::builder().bare().start().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let accounts: Value = json!([account("main", &foreign), account("own", &foreign)]);
    let second = AgentProcess::start("agent-b", stack.hub.grpc(), &accounts).unwrap();
    eventually!("its own account is cached", LONG, {
        stack.hub.objects(&[("account", "own")]).await.is_ok_and(|objects| !objects.is_empty())
    });
    let watches = second.get("/watches").await.unwrap();
    assert!(watches["main"].is_null() || watches["main"] == json!({}), "{watches}");
    assert_converged(cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
}
