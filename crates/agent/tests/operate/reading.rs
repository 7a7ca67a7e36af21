//! get and list.

use serde_json::{Value, json};
use spindrift_model::ErrorKind;
use spindrift_testkit::Cluster;

use crate::support::Bench;

async fn secret(cluster: &Cluster, namespace: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": namespace },
        "stringData": { "password": "canary" },
    });
    cluster.kubectl_stdin(&["apply", "-f", "-"], &secret.to_string()).await.unwrap();
}

#[tokio::test]
async fn an_object_is_read_as_the_api_server_has_it() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("read").await.unwrap();
    let bench = Bench::new(cluster).await;
    cluster.kubectl(&["-n", &namespace, "create", "configmap", "plain", "--from-literal=a=b"]).await.unwrap();
    let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "plain" });
    let object = bench.run(json!({ "verb": "get", "target": target })).await.json();
    assert_eq!(object["data"], json!({ "a": "b" }));
    assert_eq!(object["kind"], "ConfigMap");

    let missing = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "none" });
    let refusal = bench.run(json!({ "verb": "get", "target": missing })).await.refusal();
    assert_eq!(refusal["message"], r#"configmaps "none" not found"#);
    assert_eq!(
        refusal["details"],
        json!({ "name": "none", "kind": "configmaps" }),
        "as the API server said it"
    );
}

#[tokio::test]
async fn values_of_a_secret_leave_the_cluster_only_if_they_are_asked_for() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("secret").await.unwrap();
    let bench = Bench::new(cluster).await;
    secret(cluster, &namespace).await;
    let target = json!({ "apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": "door" });
    let canary = "Y2FuYXJ5";
    for verb in [
        json!({ "verb": "get", "target": target }),
        json!({ "verb": "list", "apiVersion": "v1", "kind": "Secret", "namespace": namespace }),
    ] {
        let done = bench.run(verb).await;
        let text = done.text();
        assert!(text.contains("door") && text.contains("Opaque"), "{text}");
        assert!(!text.contains(canary) && !text.contains("canary"), "{text}");
    }
    let reveal = json!({ "verb": "get", "target": target, "reveal": true });
    let (code, message) = bench.run(reveal.clone()).await.refused();
    assert_eq!(code, 401);
    assert!(message.contains("kubernetes.revealSecrets"), "{message}");

    let allowed = json!({ "kubernetes": { "revealSecrets": true } });
    let bench = Bench::with(cluster.kubeconfig(), json!({}), allowed.clone()).await;
    assert_eq!(bench.run(reveal).await.json()["data"]["password"], canary);

    // Not beyond the account's namespaces, though other reads may go there.
    let bench = Bench::with(cluster.kubeconfig(), json!({ "omitNamespaces": [namespace] }), allowed).await;
    let anywhere = json!({ "verb": "get", "target": target, "anywhere": true });
    assert_eq!(bench.run(anywhere).await.json()["metadata"]["name"], "door");
    let both = json!({ "verb": "get", "target": target, "anywhere": true, "reveal": true });
    let (code, message) = bench.run(both).await.refused();
    assert_eq!(code, 401);
    assert!(message.starts_with(&format!("namespace {namespace} has not been authorized")), "{message}");
}

#[tokio::test]
async fn a_list_of_many_pages_arrives_whole_and_is_not_held_at_once() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("many").await.unwrap();
    let bench = Bench::new(cluster).await;
    let items: Vec<_> = (0..1100)
        .map(|i| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": format!("c{i:04}"), "namespace": namespace, "labels": { "odd": (i % 2 == 1).to_string() } },
                "data": { "filling": "x".repeat(3000) },
            })
        })
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    cluster.kubectl_stdin(&["create", "-f", "-"], &list.to_string()).await.unwrap();

    let all = json!({ "verb": "list", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "labelSelector": "odd" });
    let operation = bench.submit(&all);
    // 3.3 MB, of which a hub that grants nothing gets the first credit, and no more.
    let mut bytes = 0;
    while bytes < 1024 * 1024 {
        bytes += bench.next().await.chunk.len();
    }
    assert_eq!(bytes, 1024 * 1024);
    bench.executor.cancel(operation);

    let listed = bench.run(all).await.json();
    assert_eq!(listed["kind"], "ConfigMapList");
    assert!(!listed["metadata"]["resourceVersion"].as_str().unwrap().is_empty());
    let names: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
    let expected: Vec<_> = (0..1100).map(|i| Value::from(format!("c{i:04}"))).collect();
    assert_eq!(names, expected);

    let odd = json!({
        "verb": "list", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace,
        "labelSelector": "odd=true", "fieldSelector": "metadata.name!=c0001",
    });
    let listed = bench.run(odd).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 549);
}

#[tokio::test]
async fn what_an_account_may_not_see_is_neither_read_nor_listed() {
    let cluster = Cluster::shared().await.unwrap();
    let mine = cluster.namespace("mine").await.unwrap();
    let also = cluster.namespace("also").await.unwrap();
    let other = cluster.namespace("other").await.unwrap();
    for namespace in [&mine, &also, &other] {
        cluster.kubectl(&["-n", namespace, "create", "configmap", "scoped"]).await.unwrap();
    }
    let list = json!({ "verb": "list", "apiVersion": "v1", "kind": "ConfigMap", "fieldSelector": "metadata.name=scoped" });
    let namespaces = |listed: &Value| -> Vec<Value> {
        listed["items"].as_array().unwrap().iter().map(|item| item["metadata"]["namespace"].clone()).collect()
    };

    let bench = Bench::with(cluster.kubeconfig(), json!({ "namespaces": [mine, also] }), json!({})).await;
    assert_eq!(namespaces(&bench.run(list.clone()).await.json()), [json!(mine), json!(also)]);
    let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": other, "name": "scoped" });
    let get = json!({ "verb": "get", "target": target });
    let expected = format!("namespace {other} has not been authorized in the configuration of account prod");
    assert_eq!(bench.run(get.clone()).await.refused(), (401, expected.clone()));
    let anywhere = json!({ "verb": "get", "target": target, "anywhere": true });
    assert_eq!(bench.run(anywhere).await.json()["metadata"]["namespace"], json!(other));
    let gone =
        json!({ "verb": "delete", "kind": "cm", "namespace": other, "name": "scoped", "anywhere": true });
    let (code, message) = bench.run(gone).await.refused();
    assert!(code == 400 && message.contains("anywhere"), "only reads can be anywhere: {message}");
    let mut elsewhere = list.clone();
    elsewhere["namespace"] = json!(other);
    assert_eq!(bench.run(elsewhere.clone()).await.refused(), (401, expected.clone()));
    elsewhere["anywhere"] = true.into();
    assert_eq!(namespaces(&bench.run(elsewhere).await.json()), [json!(other)]);
    let own = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": mine, "name": "scoped" });
    let matches = json!({ "verb": "matches", "target": own, "other": target });
    assert_eq!(bench.run(matches).await.refused(), (401, expected.clone()), "nor compared");
    let gone = json!({ "verb": "delete", "apiVersion": "v1", "kind": "Namespace", "name": other });
    assert_eq!(bench.run(gone).await.refused(), (401, expected), "a namespace is within itself");

    let bench = Bench::with(cluster.kubeconfig(), json!({ "omitNamespaces": [other] }), json!({})).await;
    let listed = namespaces(&bench.run(list).await.json());
    assert!(listed.contains(&json!(mine)) && !listed.contains(&json!(other)), "{listed:?}");
    assert_eq!(bench.run(get).await.refused().0, 401);
}

#[tokio::test]
async fn what_is_not_understood_is_refused_in_words() {
    let cluster = Cluster::shared().await.unwrap();
    let bench = Bench::new(cluster).await;
    for (verb, code, message) in [
        (json!({ "verb": "dance" }), 501, "this agent does not implement the verb dance"),
        (json!({ "verb": "get" }), 400, "get: missing field `target`"),
        (json!({ "verb": "discover", "a": { "canary": 1 } }), 400, ""),
        (json!(["canary"]), 400, "verb: expected an object with the field verb"),
    ] {
        let done = bench.run(verb.clone()).await;
        if message.is_empty() {
            assert!(!format!("{done:?}").contains("canary"), "{done:?}");
            continue;
        }
        assert_eq!(done.refused(), (code, message.to_owned()), "{verb}");
    }
    let done = bench
        .run(json!({ "verb": "list", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": "a in" }))
        .await;
    assert_eq!(done.refused().0, 400, "the API server's own error");
    assert_eq!((done.error().kind, done.error().code), (ErrorKind::ApiServer, 400));
}

#[tokio::test]
async fn values_of_a_secret_that_the_api_server_quotes_stay_in_the_cluster() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("quoted").await.unwrap();
    let bench = Bench::new(cluster).await;
    let secret = |more: Value| {
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "key", "namespace": namespace },
            "stringData": { "a": "canary-5d1f" },
        });
        secret.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "verb": "apply", "manifest": secret })
    };
    bench.run(secret(json!({}))).await.json();
    // An unknown field: the API server quotes the whole patch.
    let refusal = bench.run(secret(json!({ "dat": { "b": "canary-77aa" } }))).await.refusal();
    assert_eq!((&refusal["code"], &refusal["reason"]), (&json!(422), &json!("Invalid")), "{refusal}");
    let message = refusal["message"].as_str().unwrap();
    assert!(message.ends_with("strict decoding error: unknown field \"dat\""), "{message}");
    assert!(!refusal.to_string().contains("canary"), "{refusal}");
}
