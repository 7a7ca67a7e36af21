//! Projects: their clusters, by the members that Front50 lists.

use reqwest::Method;
use serde_json::{Value, json};
use spindrift_testkit::{Database, eventually};
use spindrift_tests::spinnaker::RecordedClouddriver;

use super::{get, send};
use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

const CLUSTERS: &str = "/projects/shops/clusters";

/// A replica set that gets one pod.
fn replica_set() -> Value {
    let template = json!({ "metadata": { "labels": { "app": "shop" } },
        "spec": { "containers": [{ "name": "main", "image": "nginx" }] } });
    json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "shop-v000", "namespace": "default",
        "annotations": { "moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/cluster": "replicaSet shop" } },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "shop" } }, "template": template } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_shown_with_what_runs_of_it() {
    let stage = Stage::set(1).await;
    let cluster = &stage.fleet.clusters[0];
    cluster.create(replica_set()).unwrap();
    let front50 = RecordedClouddriver::knowing(&[]).await.unwrap();
    let entries = json!([{ "account": cluster.name(), "stack": "*" }, { "account": "aws" }]);
    let project = json!({ "name": "shops", "config": { "applications": ["shop"], "clusters": entries } });
    front50.answer("GET", "/v2/projects/shops", 200, project);
    front50.answer("GET", "/v2/projects/unknown", 404, json!({}));
    front50.answer("GET", "/v2/projects/odd%20one", 200, json!([1]));

    let kinds = ["ReplicaSet", "Pod"];
    let mut stack = Stack::with_accounts(Database::sqlite().unwrap(), &kinds, json!(stage.accounts())).await;
    assert_eq!(get(&stack.hub, CLUSTERS).await.status, 404, "without a Front50 there are no projects");
    stack.hub.configure("/services/front50/baseUrl", json!(front50.url()));
    stack.hub.restart().await.unwrap();
    let running = "/0/applications/0/clusters/0/instanceCounts/total";
    eventually!("the project runs", LONG, {
        get(&stack.hub, CLUSTERS).await.json().pointer(running) == Some(&json!(1))
    });
    let ours = get(&stack.hub, CLUSTERS).await.json();
    assert_eq!(
        (&ours[0]["account"], &ours[0]["applications"][0]["clusters"][0]["region"]),
        (&json!(cluster.name()), &json!("default"))
    );
    assert_eq!(ours[0]["applications"][0]["clusters"][0]["builds"][0]["images"], json!(["nginx"]));
    let elsewhere = json!({ "application": "shop", "clusters": [], "lastPush": 0 });
    assert_eq!(ours[1]["applications"], json!([elsewhere]));

    send(&stack.hub, Method::GET, CLUSTERS, &[("X-SPINNAKER-USER", "ann"), ("X-Other", "x")], "").await;
    let asked = front50.received();
    let headers = &asked.last().unwrap().headers;
    assert_eq!(
        headers.get("x-spinnaker-user").map(String::as_str),
        Some("ann"),
        "Front50 knows who may see it"
    );
    assert!(!headers.contains_key("x-other"));
    assert_eq!(get(&stack.hub, "/projects/unknown/clusters").await.status, 404);
    let odd = get(&stack.hub, "/projects/odd%20one/clusters").await;
    assert!(odd.status == 500 && odd.text.contains("services.front50.baseUrl"), "{odd:?}");

    // In front of a Clouddriver, each reports the clusters of its own accounts.
    let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
    let theirs = json!([{ "account": cluster.name(), "stack": "*" }, { "account": "aws", "applications": ["theirs"] }]);
    clouddriver.answer("GET", CLUSTERS, 200, theirs.clone());
    stack.hub.configure("/upstream/url", json!(clouddriver.url()));
    stack.hub.restart().await.unwrap();
    eventually!("both tell their part", LONG, {
        let both = get(&stack.hub, CLUSTERS).await.json();
        both.pointer(running) == Some(&json!(1)) && both[1] == theirs[1]
    });
}
