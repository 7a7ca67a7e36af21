//! Which resource is meant: by every name, in every group, and a moment after it came.

use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use crate::support::Bench;

/// A definition, established, and one object of it in a namespace if it has namespaces.
async fn define(cluster: &Cluster, group: &str, kind: &str, plural: &str, scope: &str) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "shortNames": [&plural[..2]] },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    cluster.kubectl_stdin(&["apply", "-f", "-"], &definition.to_string()).await.unwrap();
    let name = format!("crd/{plural}.{group}");
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &name]).await.unwrap();
}

async fn create(cluster: &Cluster, group: &str, kind: &str, namespace: &str, name: &str) {
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": kind,
        "metadata": { "name": name, "namespace": namespace }, "from": group,
    });
    // A definition that is established is served a little later, above all one that was there before.
    spindrift_testkit::eventually!("it can be created", {
        cluster.kubectl_stdin(&["create", "-f", "-"], &object.to_string()).await.is_ok()
    });
}

fn get(api_version: Option<&str>, kind: &str, namespace: &str, name: &str) -> Value {
    json!({
        "verb": "get",
        "target": { "apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name },
    })
}

#[tokio::test]
async fn a_kind_that_came_a_moment_ago_is_found_by_every_name() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("fresh").await.unwrap();
    let bench = Bench::new(cluster).await;
    let unknown = bench.run(get(None, "cart", &namespace, "one")).await.refused();
    assert_eq!(unknown.0, 404);
    assert!(unknown.1.contains(r#""cart""#) && unknown.1.contains("account prod"), "{}", unknown.1);
    let unserved = bench.run(get(Some("fresh.example.com/v1"), "Cart", &namespace, "one")).await;
    assert_eq!(unserved.error().kind, spindrift_model::ErrorKind::NoKindMatch);
    let unknown = unserved.refused();
    assert_eq!(unknown.0, 404);
    for part in [r#""Cart""#, "fresh.example.com", "account prod"] {
        assert!(unknown.1.contains(part), "{}", unknown.1);
    }

    define(cluster, "fresh.example.com", "Cart", "carts", "Namespaced").await;
    create(cluster, "fresh.example.com", "Cart", &namespace, "one").await;
    for (api_version, kind) in [
        (Some("fresh.example.com/v1"), "Cart"),
        (Some("fresh.example.com/v1"), "carts"),
        (None, "Cart"),
        (None, "CARTS"),
        (None, "ca"),
        (None, "cart.fresh.example.com"),
        (None, "carts.v1.fresh.example.com"),
    ] {
        let object = bench.run(get(api_version, kind, &namespace, "one")).await.json();
        assert_eq!(object["from"], "fresh.example.com", "{kind}");
    }
}

#[tokio::test]
async fn the_group_decides_between_kinds_of_one_name() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("groups").await.unwrap();
    let bench = Bench::new(cluster).await;
    for group in ["one.example.com", "two.example.com"] {
        define(cluster, group, "Till", "tills", "Namespaced").await;
        create(cluster, group, "Till", &namespace, "same").await;
    }
    for group in ["one.example.com", "two.example.com"] {
        let by_version = get(Some(&format!("{group}/v1")), "Till", &namespace, "same");
        assert_eq!(bench.run(by_version).await.json()["from"], group);
        let by_group = get(None, &format!("Till.{group}"), &namespace, "same");
        assert_eq!(bench.run(by_group).await.json()["from"], group);
    }
}

#[tokio::test]
async fn a_kind_that_changes_its_scope_is_learnt_anew() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("scope").await.unwrap();
    let bench = Bench::new(cluster).await;
    define(cluster, "scope.example.com", "Shelf", "shelves", "Namespaced").await;
    create(cluster, "scope.example.com", "Shelf", &namespace, "one").await;
    let one = get(Some("scope.example.com/v1"), "Shelf", &namespace, "one");
    bench.run(one.clone()).await.json();
    cluster.kubectl(&["delete", "crd", "shelves.scope.example.com"]).await.unwrap();
    define(cluster, "scope.example.com", "Shelf", "shelves", "Cluster").await;
    create(cluster, "scope.example.com", "Shelf", "", "one").await;
    spindrift_testkit::eventually!("it has no namespaces now", {
        let done = bench.run(one.clone()).await;
        matches!(done.outcome, spindrift_model::Outcome::Succeeded { .. })
    });
}

#[tokio::test]
async fn everything_that_is_served_can_be_asked_for() {
    let cluster = Cluster::shared().await.unwrap();
    let bench = Bench::new(cluster).await;
    let answer = bench.run(json!({ "verb": "discover" })).await.json();
    let resources = answer["resources"].as_array().unwrap();
    let find = |kind: &str, group: &str| {
        resources.iter().find(|one| one["kind"] == kind && one["group"] == group).unwrap().clone()
    };
    let deployment = find("Deployment", "apps");
    assert_eq!((&deployment["plural"], &deployment["version"]), (&json!("deployments"), &json!("v1")));
    assert_eq!((&deployment["namespaced"], &deployment["shortNames"]), (&json!(true), &json!(["deploy"])));
    let review = find("SelfSubjectAccessReview", "authorization.k8s.io");
    assert_eq!(review["verbs"], json!(["create"]), "what cannot be watched, too");
    assert_eq!(find("Namespace", "")["namespaced"], false);
}
