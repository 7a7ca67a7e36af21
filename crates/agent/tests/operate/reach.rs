//! The limits of an account hold for requests with and without a name.

use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use crate::support::{ACCOUNT, Bench};

fn config_map(namespace: Option<&str>) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one", "namespace": namespace } })
}

fn target(kind: &str, namespace: Option<&str>, name: &str) -> Value {
    json!({ "kind": kind, "namespace": namespace, "name": name })
}

#[tokio::test]
async fn nothing_outside_the_accounts_namespaces_is_changed_whatever_names_it() {
    let cluster = Cluster::shared().await.unwrap();
    let (own, other) = (cluster.namespace("own").await.unwrap(), cluster.namespace("other").await.unwrap());
    for namespace in [&own, &other] {
        cluster.kubectl(&["label", "namespace", namespace, &format!("reach={own}")]).await.unwrap();
    }
    let bench = Bench::with(cluster.kubeconfig(), json!({ "namespaces": [own] }), json!({})).await;
    let elsewhere = Some(other.as_str());
    for (verb, namespace) in [
        (json!({ "verb": "create", "manifest": config_map(None) }), "default"),
        (json!({ "verb": "apply", "manifest": config_map(None), "namespace": "" }), "default"),
        (json!({ "verb": "apply", "manifest": config_map(elsewhere), "namespace": own }), &*other),
        (json!({ "verb": "replace", "manifest": config_map(None), "namespace": other }), &*other),
        (json!({ "verb": "patch", "target": target("cm", elsewhere, "one"), "patch": {} }), &*other),
        (json!({ "verb": "scale", "target": target("deploy", None, "web"), "replicas": 0 }), "default"),
        (
            json!({ "verb": "rollout", "action": "pause", "target": target("deploy", elsewhere, "web") }),
            &*other,
        ),
        (json!({ "verb": "delete", "kind": "cm", "namespace": other, "labelSelector": "a=b" }), &*other),
        (json!({ "verb": "delete", "kind": "ns", "name": other }), &*other),
        (json!({ "verb": "patch", "target": target("Namespace", None, &other), "patch": {} }), &*other),
        (
            json!({ "verb": "create", "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "new" } } }),
            "new",
        ),
    ] {
        let (code, message) = bench.run(verb.clone()).await.refused();
        let expected = format!(
            "namespace {namespace} has not been authorized in the configuration of account {ACCOUNT}"
        );
        assert_eq!((code, message), (401, expected), "{verb}");
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [config_map(elsewhere)] });
    let refused = bench.run(json!({ "verb": "apply", "manifest": list, "namespace": own })).await.refused();
    assert_eq!(
        refused,
        (400, "manifest: a List is not one object; expected its items, one by one".to_owned())
    );

    let name_of =
        |answer: &Value| answer["name"].as_str().or(answer["metadata"]["name"].as_str()).map(str::to_owned);
    let selector = format!("reach={own}");
    let delete = json!({ "verb": "delete", "kind": "ns", "labelSelector": selector, "dryRun": "server" });
    let found = bench.run(delete).await.json();
    let names: Vec<_> = found["deleted"].as_array().unwrap().iter().filter_map(name_of).collect();
    assert_eq!(names.join(" "), own);
    let found = bench.run(json!({ "verb": "list", "kind": "ns", "labelSelector": selector })).await.json();
    let names: Vec<_> = found["items"].as_array().unwrap().iter().filter_map(name_of).collect();
    assert_eq!(names.join(" "), own);
}

#[tokio::test]
async fn what_has_no_namespace_is_within_reach_unless_the_account_has_only_namespaces() {
    let cluster = Cluster::shared().await.unwrap();
    let own = cluster.namespace("own").await.unwrap();
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "reach" } });
    let create = json!({ "verb": "create", "manifest": role, "dryRun": "server" });
    let bench = Bench::with(cluster.kubeconfig(), json!({ "namespaces": [own] }), json!({})).await;
    assert_eq!(bench.run(create.clone()).await.json()["action"], "created");
    let limits = json!({ "namespaces": [own], "onlyNamespacedResources": true });
    let bench = Bench::with(cluster.kubeconfig(), limits, json!({})).await;
    let (code, message) = bench.run(create).await.refused();
    assert_eq!(code, 401);
    assert!(
        message.starts_with("kinds without namespaces, such as ClusterRole, have not been authorized"),
        "{message}"
    );
}

#[tokio::test]
async fn a_name_that_would_address_another_object_is_refused_before_any_request() {
    let cluster = Cluster::shared().await.unwrap();
    let omitted = cluster.namespace("omitted").await.unwrap();
    let create = ["-n", &*omitted, "create", "configmap", "jewels", "--from-literal=key=value"];
    cluster.kubectl(&create).await.unwrap();
    let limits = json!({ "omitNamespaces": [omitted] });
    let bench = Bench::with(cluster.kubeconfig(), limits, json!({})).await;
    let name = format!("{omitted}/configmaps/jewels");
    let namespace = target("Namespace", None, &name);
    let encoded = target("Namespace", None, &name.replace('/', "%2F"));
    let up = target("ConfigMap", Some(".."), &omitted);
    let no_name = target("ConfigMap", Some("default"), "");
    for (verb, words) in [
        (json!({ "verb": "get", "target": namespace }), "target.name: "),
        (json!({ "verb": "get", "target": encoded }), "target.name: "),
        (json!({ "verb": "get", "target": up }), "target.namespace: "),
        (json!({ "verb": "get", "target": no_name }), "target.name: "),
        (json!({ "verb": "patch", "target": namespace, "patch": { "data": {} } }), "target.name: "),
        (json!({ "verb": "delete", "kind": "Namespace", "name": name }), "name: "),
        (json!({ "verb": "logs", "target": target("Node", None, "n1/proxy/pods") }), "target.name: "),
        (json!({ "verb": "top", "kind": "nodes", "name": "../x" }), "name: "),
        (
            json!({ "verb": "patch", "target": target("cm", Some("default"), "x"), "patch": {}, "subresource": "../x" }),
            "subresource: ",
        ),
        (
            json!({ "verb": "apply", "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } } }),
            "manifest.metadata.name: ",
        ),
        (
            json!({ "verb": "get", "target": { "apiVersion": "../v1", "kind": "ConfigMap", "name": "x" } }),
            "target.apiVersion: ",
        ),
    ] {
        let (code, message) = bench.run(verb.clone()).await.refused();
        assert_eq!(code, 400, "{verb}: {message}");
        assert!(message.starts_with(words) && message.contains("may not "), "{verb}: {message}");
    }
    cluster.kubectl(&["-n", &omitted, "get", "configmap", "jewels"]).await.expect("it was not touched");
}
