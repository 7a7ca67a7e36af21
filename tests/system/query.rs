//! Queries of `/v1` on kinds, names, fields and counts.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Stack};

/// A kind of the test's own, with a short name.
async fn define_gadgets(cluster: &Cluster, group: &str) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("gadgets.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": "Gadget", "plural": "gadgets", "shortNames": ["gdg"] },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    cluster.kubectl_stdin(&["apply", "-f", "-"], &definition.to_string()).await.unwrap();
    let name = format!("crd/gadgets.{group}");
    cluster.kubectl(&["wait", "--for=condition=Established", &name]).await.unwrap();
}

fn config_map(namespace: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace },
        "data": { "value": value },
    })
}

/// Names of the objects that a query finds, in order.
async fn names(stack: &Stack, query: &[(&str, &str)]) -> Vec<String> {
    let objects = stack.hub.objects(query).await.unwrap();
    objects.into_iter().map(|object| object.name).collect()
}

async fn apply(cluster: &Cluster, object: &Value) {
    cluster.kubectl_stdin(&["apply", "-f", "-"], &object.to_string()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_counts_and_selectors_are_answered_from_the_store() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("rest").await.unwrap();
    define_gadgets(cluster, "rest.example.com").await;
    for (name, value) in [("red", "1"), ("green", "2"), ("blue", "2")] {
        apply(cluster, &config_map(namespace, name, value)).await;
    }
    let gadget = json!({
        "apiVersion": "rest.example.com/v1", "kind": "Gadget", "metadata": { "name": "gizmo", "namespace": namespace },
    });
    apply(cluster, &gadget).await;

    let kinds = ["ConfigMap", "Namespace", "CustomResourceDefinition", "Gadget.rest.example.com"];
    let stack = Stack::start(cluster, Database::postgres().await.unwrap(), &kinds).await;
    eventually!("everything is listed", LONG, {
        let account = stack.account("main").await;
        let number = |field: &str| account[field].as_u64().unwrap_or_default();
        anyhow::ensure!(number("watches") >= kinds.len() as u64 && number("listing") == 0, "{account}");
        Ok(())
    });
    tells_kinds(&stack).await;
    finds_by_short_names_and_fields(&stack, namespace).await;
    counts_without_the_dead(cluster, &stack, namespace).await;
    follows_a_field(cluster, &stack, namespace).await;
    let namespaces = stack.hub.get("/v1/namespaces?account=main").await.unwrap();
    assert!(namespaces.as_array().unwrap().contains(&json!(namespace)), "{namespaces}");
    assert_eq!(stack.hub.get("/v1/namespaces?account=other").await.unwrap(), json!([]));
}

async fn tells_kinds(stack: &Stack) {
    let resources = stack.hub.get("/v1/api-resources").await.unwrap();
    let of = |kind: &str| {
        let fits = |resource: &&Value| resource["kind"] == kind;
        resources.as_array().unwrap().iter().find(fits).unwrap_or_else(|| panic!("no {kind}: {resources}"))
    };
    let config_maps = json!({
        "group": "", "version": "v1", "kind": "ConfigMap", "plural": "configmaps", "namespaced": true,
        "shortNames": ["cm"], "accounts": 1, "cached": true, "uncached": 0,
    });
    assert_eq!(of("ConfigMap"), &config_maps);
    assert_eq!(of("Gadget")["shortNames"], json!(["gdg"]), "from its definition");
    assert_eq!(of("Namespace")["namespaced"], json!(false));
}

async fn finds_by_short_names_and_fields(stack: &Stack, namespace: &str) {
    let ours = ("namespace", namespace);
    assert_eq!(names(stack, &[("kind", "gdg"), ours]).await, ["gizmo"]);
    let both = names(stack, &[("kind", "cm,gadgets"), ours]).await;
    for name in ["blue", "gizmo", "green", "red"] {
        assert!(both.iter().any(|found| found == name), "{both:?}");
    }
    for (selector, expected) in [
        ("data.value=2", &["blue", "green"][..]),
        ("data.value!=2,metadata.name!=kube-root-ca.crt", &["red"]),
        ("metadata.name=green", &["green"]),
        ("metadata.name=green,data.value==1", &[]),
    ] {
        let found = names(stack, &[("kind", "cm"), ours, ("fieldSelector", selector)]).await;
        assert_eq!(found, expected, "{selector}");
    }
    let url = format!("{}/v1/objects?fieldSelector=phase", stack.hub.url());
    let refused = reqwest::get(url).await.unwrap();
    assert_eq!(refused.status(), 400);
    let body: Value = refused.json().await.unwrap();
    assert!(body["message"].as_str().unwrap().starts_with("fieldSelector: expected"), "{body}");
}

async fn counts_without_the_dead(cluster: &Cluster, stack: &Stack, namespace: &str) {
    let config_maps = async || {
        let watches = stack.hub.get("/v1/watches?account=main").await?;
        let fits = |watch: &&Value| watch["kind"] == "ConfigMap";
        let watch =
            watches.as_array().and_then(|watches| watches.iter().find(fits)).cloned().unwrap_or_default();
        anyhow::ensure!(watch["phase"] == "live" && watch["namespace"].is_null(), "{watches}");
        Ok(watch["objects"].as_u64())
    };
    apply(cluster, &config_map(namespace, "short-lived", "3")).await;
    let ours = [("kind", "cm"), ("namespace", namespace), ("name", "short-lived")];
    eventually!("it is there", LONG, names(stack, &ours).await.len() == 1);
    cluster.kubectl(&["delete", "cm", "short-lived", "-n", namespace]).await.unwrap();
    eventually!("it is gone", LONG, names(stack, &ours).await.is_empty());
    // Its tombstone is stored, and not counted. Other tests may change the cluster between a list and a count.
    eventually!("what is listed is counted, and nothing else", LONG, {
        let listed = async |query: &[_]| Ok::<_, anyhow::Error>(stack.hub.objects(query).await?.len() as u64);
        let counted = config_maps().await?;
        let expected = listed(&[("account", "main"), ("kind", "cm")]).await?;
        anyhow::ensure!(counted == Some(expected), "{counted:?} ConfigMaps, not {expected}");
        let counted = stack.hub.get("/v1/accounts").await?[0]["objects"].as_u64();
        let expected = listed(&[("account", "main")]).await?;
        anyhow::ensure!(counted == Some(expected), "{counted:?} objects, not {expected}");
        Ok(())
    });
}

async fn follows_a_field(cluster: &Cluster, stack: &Stack, namespace: &str) {
    let query = [("kind", "cm"), ("namespace", namespace), ("fieldSelector", "data.value=1")];
    let mut watch = stack.hub.watch(&query, None).await.unwrap();
    let red = watch.find(|event| event.event == "upsert").await.unwrap();
    assert_eq!(red.data["name"], "red", "of all that is there, only what matches is told");
    watch.find(|event| event.event == "synced").await.unwrap();
    for (value, event) in [("9", "delete"), ("1", "upsert")] {
        apply(cluster, &config_map(namespace, "red", value)).await;
        let told = watch.find(|told| told.data["name"] == "red").await.unwrap();
        assert_eq!(told.event, event, "for the reader it {event}s when it becomes {value}");
    }
}
