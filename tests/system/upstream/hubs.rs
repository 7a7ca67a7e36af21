//! A second hub as the Clouddriver behind the first.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Database, HubProcess, eventually};

use super::ask;
use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_can_be_behind_a_hub() {
    let stage = Stage::set(2).await;
    let accounts = stage.accounts();
    let [near, far] = [0, 1].map(|index| stage.fleet.clusters[index].name().to_owned());
    let kinds = ["ServiceAccount", "ReplicaSet"];
    let behind = Stack::with_settings(&kinds, json!(accounts[1..]), &[]).await;
    let mut front = Stack::with_settings(&kinds, json!(accounts[..1]), &[]).await;
    front.hub.configure("/upstream", json!({ "url": behind.hub.url() }));
    front.hub.restart().await.unwrap();
    front.synced(&near).await;
    behind.synced(&far).await;

    let answer = ask(&front.hub, "GET", "/credentials", &[], None).await;
    let mut both = [near.clone(), far.clone()];
    both.sort();
    assert_eq!(answer.each("name"), both);

    // An operation in the account behind, its task, and its outcome, all through the front.
    let manifest = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "made", "namespace": "default" } });
    let operation = json!([{ "deployManifest": { "account": far, "manifests": [manifest], "moniker": { "app": "shop" } } }]);
    let answer = ask(&front.hub, "POST", "/kubernetes/ops", &[], Some(&operation)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let task = answer.json()["resourceUri"].as_str().unwrap().to_owned();
    eventually!("the task is done", LONG, {
        let status = ask(&front.hub, "GET", &task, &[], None).await.json()["status"].clone();
        status["completed"] == true && status["failed"] == false
    });
    let path = format!("/manifests/{far}/default/serviceAccount%20made");
    let answer = ask(&front.hub, "GET", &path, &[], None).await;
    assert_eq!((answer.status, &answer.json()["account"]), (200, &json!(far)), "{answer:?}");

    // Answers that the hub behind marks as stale are stale.
    let clusters = "/applications/shop/clusters";
    let is_stale = async || ask(&front.hub, "GET", clusters, &[], None).await.names_stale(&far);
    assert!(!is_stale().await);
    let mut behind = behind;
    behind.agent.kill();
    eventually!("the account behind is stale in front", LONG, is_stale().await);
    behind.agent.restart().unwrap();
    eventually!("and no longer", LONG, !is_stale().await);

    // The one behind goes; the front's own account does not mind.
    behind.hub.kill();
    let answer = ask(&front.hub, "GET", clusters, &[], None).await;
    assert!(answer.status == 200 && answer.is_stale(), "{answer:?}");
    assert_eq!(ask(&front.hub, "GET", &path, &[], None).await.status, 502);
    assert_eq!(ask(&front.hub, "GET", &format!("/credentials/{near}"), &[], None).await.status, 200);
    behind.hub.restart().await.unwrap();
    eventually!("it is back", LONG, ask(&front.hub, "GET", &path, &[], None).await.status == 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_that_are_behind_each_other_answer_once() {
    let stage = Stage::set(2).await;
    let accounts = stage.accounts();
    let [one, two] = [0, 1].map(|index| stage.fleet.clusters[index].name().to_owned());
    let kinds = ["ServiceAccount", "ReplicaSet"];
    let mut first = Stack::with_settings(&kinds, json!(accounts[..1]), &[]).await;
    let database = Database::sqlite().unwrap();
    let settings =
        [("/kubesvc/cache/cacheKinds", json!(kinds)), ("/upstream", json!({ "url": first.hub.url() }))];
    let second = HubProcess::start("hub-b", &database, &settings).await.unwrap();
    let _agent = AgentProcess::start("agent-b", second.grpc(), &json!(accounts[1..])).unwrap();
    first.hub.configure("/upstream", json!({ "url": second.url() }));
    first.hub.restart().await.unwrap();
    first.synced(&one).await;

    let mut both = [one.clone(), two.clone()];
    both.sort();
    for hub in [&first.hub, &second] {
        eventually!("accounts are of both, each once", LONG, {
            let answer = ask(hub, "GET", "/credentials", &[], None).await;
            answer.status == 200
                && answer.each("name") == both
                && answer.json().as_array().unwrap().len() == 2
        });
        let answer = ask(hub, "GET", "/applications", &[], None).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let operation = |account: &str| json!([{ "scaleManifest": { "account": account } }]);
        for account in &both {
            let answer = ask(hub, "POST", "/kubernetes/ops", &[], Some(&operation(account))).await;
            assert!(answer.status < 500, "whoever has it refuses it: {answer:?}");
        }
        let answer = ask(hub, "POST", "/kubernetes/ops", &[], Some(&operation("nobodys"))).await;
        assert_eq!(answer.status, 400, "the one who asked first ends it: {answer:?}");
    }
}
