//! Objects as clusters have them now.

use reqwest::Method;
use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use super::{get, send};
use crate::{
    plain_proxy::PlainProxy,
    support::{LONG, Stack, account},
};

fn replica_set(namespace: &str, name: &str, replicas: u32) -> Value {
    let labels = json!({ "app": name });
    json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": name, "namespace": namespace,
        "annotations": { "moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/cluster": "replicaSet shop" } },
        "spec": { "replicas": replicas, "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "shop:1" }] } } } })
}

async fn stack(cluster: &Cluster) -> Stack {
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_is_read_from_its_cluster() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("manifest").await.unwrap();
    let set = replica_set(&namespace, "shop-v000", 2).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &set).await.unwrap();
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e", "namespace": namespace }, "count": 3,
        "involvedObject": { "kind": "ReplicaSet", "name": "shop-v000", "namespace": namespace }, "reason": "Tested" });
    cluster.kubectl_stdin(&["create", "-f", "-"], &event.to_string()).await.unwrap();
    let proxy = PlainProxy::open(cluster).await;
    proxy.tampering.rewrite(br#""apiVersion":"apps/v1""#, br#""apiVersion":"apps/v9""#).unwrap();
    let old = json!({ "name": "old", "kubeconfigContents": proxy.kubeconfig().to_string() });
    let accounts = json!([account("main", cluster), old]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    stack.synced("main").await;
    stack.synced("old").await;

    let path = format!("/manifests/main/{namespace}/rs%20shop-v000");
    let answer = get(&stack.hub, &path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer.text.contains(r#""replicas":2.0"#),
        "numbers are floats, which Orca casts: {}",
        answer.text
    );
    let shown = answer.json();
    assert_eq!((&shown["name"], &shown["location"]), (&json!("replicaSet shop-v000"), &json!(namespace)));
    assert_eq!(shown["moniker"], json!({ "app": "shop", "cluster": "replicaSet shop", "sequence": 0 }));
    assert_eq!(shown["status"]["stable"]["state"], false);
    assert_eq!(shown["artifacts"][0]["reference"], "shop:1");
    assert_eq!(
        (&shown["events"][0]["reason"], &shown["events"][0]["count"]),
        (&json!("Tested"), &json!(3.0))
    );
    assert_eq!((&shown["warnings"], &shown["metrics"]), (&json!([]), &json!([])));
    let bare = get(&stack.hub, &format!("{path}?includeEvents=false")).await.json();
    assert_eq!((&bare["events"], &bare["manifest"]), (&json!([]), &shown["manifest"]));

    let wherever = get(&stack.hub, &format!("/manifests/main/namespace%20{namespace}")).await.json();
    assert_eq!((&wherever["location"], &wherever["status"]["stable"]["state"]), (&json!(""), &json!(true)));
    let nowhere = get(&stack.hub, &format!("/manifests/main/_/ns%20{namespace}")).await.json();
    assert_eq!(nowhere["manifest"], wherever["manifest"]);
    let unsupported = get(&stack.hub, &path.replace("main", "old")).await;
    let message = format!(
        "Failed to read manifest: (account: old, location: {namespace}, name: rs shop-v000): No version of kind \
         replicaSet is known as apps/v9: only apps/v1 is"
    );
    assert_eq!((unsupported.status, &unsupported.json()["message"]), (500, &json!(message)));

    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login", "namespace": namespace },
        "stringData": { "password": "s3cr3t-value" } });
    cluster.kubectl_stdin(&["apply", "-f", "-"], &secret.to_string()).await.unwrap();
    let shown = get(&stack.hub, &format!("/manifests/main/{namespace}/secret%20login")).await;
    let manifest = &shown.json()["manifest"];
    assert_eq!((shown.status, &manifest["metadata"]["name"]), (200, &json!("login")), "{shown:?}");
    for value in ["s3cr3t-value", "czNjcjN0LXZhbHVl"] {
        assert!(!shown.text.contains(value), "its values stay in its cluster: {}", shown.text);
    }

    let no_kind = ": the server doesn't have a resource type \"wibble\" in group \"\", in account main";
    for (account, name, why) in [
        ("main", "replicaSet nope", ""),
        ("nope", "replicaSet shop-v000", ""),
        ("main", "shop-v000", ""),
        ("main", "wibble shop-v000", no_kind),
    ] {
        let path = format!("/manifests/{account}/{namespace}/{}", name.replace(' ', "%20"));
        let missing = get(&stack.hub, &path).await;
        let message =
            format!("Manifest (account: {account}, location: {namespace}, name: {name}) not found{why}");
        assert_eq!((missing.status, &missing.json()["message"]), (404, &json!(message)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_is_picked_out_of_a_cluster_as_it_is_now() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("target").await.unwrap();
    let stack = stack(cluster).await;
    let base = format!("/manifests/main/{namespace}/replicaset/cluster/shop/replicaSet%20shop");
    assert_eq!(get(&stack.hub, &base).await.json(), json!([]));
    for (name, replicas) in [("shop-v000", 3), ("shop-v001", 1)] {
        let set = replica_set(&namespace, name, replicas).to_string();
        cluster.kubectl_stdin(&["create", "-f", "-"], &set).await.unwrap();
    }
    let object = |name: &str| json!({ "kind": "replicaSet", "namespace": namespace, "name": name });
    let both = json!([object("shop-v000"), object("shop-v001")]);
    assert_eq!(get(&stack.hub, &base).await.json(), both, "nothing is cached");
    for (criteria, name) in [("largest", "shop-v000"), ("SMALLEST", "shop-v001")] {
        assert_eq!(get(&stack.hub, &format!("{base}/dynamic/{criteria}")).await.json(), object(name));
    }
    let others = format!("/manifests/main/{namespace}/replicaSet/cluster/shop/replicaSet%20nope");
    assert_eq!(get(&stack.hub, &others).await.json(), json!([]));
    let none = get(&stack.hub, &format!("{others}/dynamic/newest")).await;
    let message = format!(
        "No manifests matching (account: main, location: {namespace}, kind: replicaSet, app shop, cluster: replicaSet \
         nope, criteria: newest) found"
    );
    assert_eq!((none.status, &none.json()["message"]), (404, &json!(message)));
    for path in [base.replace("/main/", "/nope/"), base.replace("/replicaset/", "/wibble/")] {
        assert_eq!(get(&stack.hub, &path).await.status, 404, "no empty body, which Orca cannot read: {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_read_is_never_taken_for_one_without_the_object() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("unread").await.unwrap();
    let mut stack = stack(cluster).await;
    stack.agent.kill();
    eventually("its agent is gone", LONG, || async {
        let accounts = stack.hub.get("/v1/accounts").await?;
        anyhow::ensure!(accounts[0]["cachedBy"].is_null(), "{accounts}");
        Ok(())
    })
    .await;
    let pod = "/applications/shop/kubernetes/pods/main";
    for path in [
        format!("/manifests/main/{namespace}/deployment%20x"),
        format!("/manifests/main/{namespace}/replicaSet/cluster/shop/replicaSet%20shop"),
        format!("/manifests/main/{namespace}/replicaSet/cluster/shop/replicaSet%20shop/dynamic/newest"),
        format!("/applications/shop/jobs/main/{namespace}/job%20x"),
        format!("/instances/main/{namespace}/pod%20x/console"),
        format!("{pod}/{namespace}/x/main"),
    ] {
        let answer = get(&stack.hub, &path).await;
        let body = answer.json();
        let message = body["message"].as_str().unwrap();
        assert!(
            answer.status == 500 && message.contains("main") && message.contains("agent"),
            "{path}: {body}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_bound_what_is_changed_and_not_what_spinnaker_reads_live() {
    let cluster = Cluster::shared().await.unwrap();
    let own = &cluster.namespace("own").await.unwrap();
    let other = &cluster.namespace("other").await.unwrap();
    let set = replica_set(other, "shop-v000", 0).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &set).await.unwrap();
    let account = json!({ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [own] });
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], json!([account])).await;
    stack.synced("main").await;

    let found = get(&stack.hub, &format!("/manifests/main/{other}/replicaSet%20shop-v000")).await;
    assert_eq!((found.status, &found.json()["location"]), (200, &json!(other)), "{found:?}");
    assert_eq!(get(&stack.hub, &format!("/manifests/main/_/namespace%20{other}")).await.status, 200);
    let cluster_of = format!("/manifests/main/{other}/replicaSet/cluster/shop/replicaSet%20shop");
    let object = json!({ "kind": "replicaSet", "namespace": other, "name": "shop-v000" });
    assert_eq!(get(&stack.hub, &cluster_of).await.json(), json!([object]));
    assert_eq!(get(&stack.hub, &format!("{cluster_of}/dynamic/newest")).await.json(), object);

    let headers = [("Content-Type", "application/json")];
    let scale = json!([{ "scaleManifest": { "account": "main", "manifestName": "replicaSet shop-v000", "location": other, "replicas": 1 } }]);
    let refused = send(&stack.hub, Method::POST, "/kubernetes/ops", &headers, &scale.to_string()).await;
    let violation = format!("scaleKubernetesManifest.scaleKubernetesManifest.{other}.wrongNamespace");
    assert_eq!((refused.status, &refused.json()["errors"]), (400, &json!([violation])));
    // Our own reads are bounded, too.
    let target = json!({ "kind": "rs", "namespace": other, "name": "shop-v000" });
    let read = json!({ "verb": "get", "target": target }).to_string();
    let refused = send(&stack.hub, Method::POST, "/v1/accounts/main/operations", &headers, &read).await;
    assert_eq!(refused.status, 401, "{refused:?}");
}
