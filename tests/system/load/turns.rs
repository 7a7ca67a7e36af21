//! Small requests do not wait behind many others.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, FaultId, Faults, Verb};
use spindrift_testkit::{Database, Operations, eventually};

use super::{OPERATIONS, chatter, playground::Playground};
use crate::support::{LONG, Stack};

/// More than an agent reads of much at once.
const LISTS: usize = 20;

async fn done(hub: &Operations, verb: &Value) {
    let answer = hub.ask(verb).await.unwrap();
    assert!(answer.is_done(), "{verb}: {}", String::from_utf8_lossy(&answer.body));
}

fn has_struck(faults: &Faults, fault: FaultId, times: u32) -> bool {
    faults.hits(fault).is_some_and(|hits| hits >= times)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_operation_is_done_while_a_thousand_of_its_account_are_not() {
    let playground = Playground::start().await;
    let (cluster, account) = (playground.cluster(), playground.name());
    let mut accounts = playground.accounts();
    // A request that hangs must hang until the test ends it, however slow the machine.
    accounts[0]["timeoutSeconds"] = LONG.as_secs().into();
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    stack.synced(account).await;
    let web = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "main", "image": "web:1" }] },
            },
        },
    });
    cluster.create(web).unwrap();
    let text = chatter(&cluster).await;
    let target = json!({ "kind": "Deployment", "namespace": "default", "name": "web" });

    let hub = stack.hub.operations(account).within(LONG);
    let faults = Faults::before(&cluster);
    let freeze =
        |verb, plural| faults.inject(Fault::new(Effect::Freeze).of_verbs([verb]).of_resource(plural));
    let deploys_hang = freeze(Verb::Create, "configmaps");
    let lists_hang = freeze(Verb::List, "services");
    let deployed = AtomicUsize::new(0);
    let deploys = (0..OPERATIONS).map(|number| {
        let metadata = json!({ "name": format!("map-{number}"), "namespace": "default" });
        let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        let (hub, deployed) = (&hub, &deployed);
        async move {
            done(hub, &json!({ "verb": "apply", "manifest": manifest })).await;
            deployed.fetch_add(1, Ordering::Relaxed);
        }
    });
    let list = json!({ "verb": "list", "kind": "Service", "namespace": "default" });
    let lists = (0..LISTS).map(|_| done(&hub, &list));

    let small = async {
        eventually!("deploys hang", LONG, has_struck(&faults, deploys_hang, 32));
        eventually!("lists hang", LONG, has_struck(&faults, lists_hang, 8));
        // Were there one queue for all, these would never come back.
        done(&hub, &json!({ "verb": "get", "target": target })).await;
        done(&hub, &json!({ "verb": "rollout", "action": "status", "target": target })).await;
        faults.lift(lists_hang);
        let chatty = json!({ "kind": "Pod", "namespace": "default", "name": "chatty" });
        let log = hub.ask(&json!({ "verb": "logs", "target": chatty })).await.unwrap();
        assert!(log.body == text.as_bytes(), "{} bytes of {}", log.body.len(), text.len());
        assert_eq!(deployed.load(Ordering::Relaxed), 0);

        let scaled = async {
            done(&hub, &json!({ "verb": "scale", "target": target, "replicas": 1 })).await;
            deployed.load(Ordering::Relaxed)
        };
        let thaw = async {
            let query = format!("/v1/operations?account={account}&limit=1000");
            let is_scale = |operation: &Value| operation["verb"] == "scale";
            eventually!("the scale waits for its turn", LONG, {
                let operations = stack.hub.get(&query).await.unwrap();
                operations.as_array().unwrap().iter().any(is_scale)
            });
            faults.lift(deploys_hang);
        };
        let (before, ()) = tokio::join!(scaled, thaw);
        assert!(before < OPERATIONS / 2, "it came last, and {before} of {OPERATIONS} went before it");
    };
    tokio::join!(join_all(deploys), join_all(lists), small);
    assert_eq!(deployed.load(Ordering::Relaxed), OPERATIONS);
}
