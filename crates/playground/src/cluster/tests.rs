//! A cluster as in-process controllers use it.

use serde_json::{Value, json};

use super::*;
use crate::storage::ChangeKind;

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

fn key(name: &str) -> Key {
    Key::new("", "configmaps", "default", name)
}

#[test]
fn new_cluster_has_its_namespaces_and_a_uid() {
    let cluster = Cluster::new("a");
    let names: Vec<String> =
        cluster.list("", "namespaces", None).iter().map(|n| object::name(n).to_owned()).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert!(!cluster.uid().is_empty());
    assert_ne!(cluster.uid(), Cluster::new("b").uid());
}

#[test]
fn update_that_changes_nothing_makes_no_event() {
    let cluster = Cluster::new("a");
    cluster.create(config_map("x")).unwrap();
    let before = cluster.revision();
    cluster.update(&key("x"), |_| {}).unwrap();
    assert_eq!(cluster.revision(), before);
    cluster.update(&key("x"), |object| object["data"] = json!({"a": "b"})).unwrap();
    assert_eq!(cluster.revision(), before + 1);
}

#[test]
fn subscription_tells_each_change_once_in_order() {
    let cluster = Cluster::new("a");
    let mut subscription = cluster.subscribe();
    cluster.create(config_map("x")).unwrap();
    cluster.update(&key("x"), |object| object["data"] = json!({"a": "b"})).unwrap();
    cluster.delete(&key("x")).unwrap();
    let kinds: Vec<ChangeKind> = subscription.pending().unwrap().iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted]);
    assert_eq!(subscription.pending(), Ok(Vec::new()));
}

#[test]
fn slow_subscription_is_told_that_it_lagged() {
    let options = ClusterOptions { history_changes: 3, ..ClusterOptions::default() };
    let cluster = Cluster::with_options("a", options);
    let mut subscription = cluster.subscribe();
    for number in 0..5 {
        cluster.create(config_map(&format!("x{number}"))).unwrap();
    }
    assert_eq!(subscription.pending(), Err(Lagged));
    cluster.create(config_map("y")).unwrap();
    assert_eq!(subscription.pending().unwrap().len(), 1);
}

#[test]
fn finalizers_hold_an_object_until_they_are_gone() {
    let cluster = Cluster::new("a");
    let mut object = config_map("x");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(object).unwrap();
    cluster.delete(&key("x")).unwrap();
    assert!(object::is_terminating(&cluster.get(&key("x")).unwrap()));
    cluster.update(&key("x"), |object| object["metadata"]["finalizers"] = json!([])).unwrap();
    assert!(cluster.get(&key("x")).is_none());
}

#[test]
fn dependents_go_with_their_last_owner() {
    let cluster = Cluster::new("a");
    let owners: Vec<Value> =
        ["a", "b"].iter().map(|name| cluster.create(config_map(name)).unwrap()).collect();
    let reference = |owner: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": object::name(owner), "uid": object::uid(owner)});
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
    cluster.create(child).unwrap();
    cluster.delete(&key("a")).unwrap();
    assert!(cluster.get(&key("child")).is_some());
    cluster.delete(&key("b")).unwrap();
    assert!(cluster.get(&key("child")).is_none());
}

#[test]
fn chain_of_ten_thousand_owners_is_collected() {
    let cluster = Cluster::new("a");
    let mut parent = cluster.create(config_map("x0")).unwrap();
    for number in 1..10_000 {
        let mut next = config_map(&format!("x{number}"));
        next["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": object::name(&parent), "uid": object::uid(&parent),
        }]);
        parent = cluster.create(next).unwrap();
    }
    cluster.delete(&key("x0")).unwrap();
    assert!(cluster.list("", "configmaps", Some("default")).is_empty());
}

#[test]
fn namespace_takes_its_content_along() {
    let cluster = Cluster::new("a");
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})).unwrap();
    let mut object = config_map("x");
    object["metadata"]["namespace"] = json!("n");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(object.clone()).unwrap();
    cluster.delete(&Key::new("", "namespaces", "", "n")).unwrap();
    object["metadata"]["name"] = json!("late");
    assert_eq!(cluster.create(object).unwrap_err().code, 403);
    let inside = Key::new("", "configmaps", "n", "x");
    cluster.update(&inside, |object| object["metadata"]["finalizers"] = json!([])).unwrap();
    assert!(cluster.get(&Key::new("", "namespaces", "", "n")).is_none());
}

#[test]
fn objects_too_large_or_too_deep_are_refused() {
    let cluster = Cluster::new("a");
    let mut large = config_map("large");
    large["data"] = json!({"a": "x".repeat(2 << 20)});
    assert_eq!(cluster.create(large).unwrap_err().code, 500);
    let mut deep = config_map("deep");
    let mut value = json!({});
    for _ in 0..120 {
        value = json!({"a": value});
    }
    deep["data"] = value;
    assert_eq!(cluster.create(deep).unwrap_err().code, 400);
}

#[test]
fn definition_cannot_take_the_place_of_a_built_in_kind() {
    let cluster = Cluster::new("a");
    let before = cluster.list("networking.k8s.io", "ingresses", None).len();
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ingresses.networking.k8s.io"},
        "spec": {
            "group": "networking.k8s.io", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "ingresses", "kind": "Ingress"},
        },
    });
    cluster.create(definition).unwrap();
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x", "namespace": "default"}});
    cluster.create(ingress).unwrap();
    let group = "apiextensions.k8s.io";
    cluster.delete(&Key::new(group, "customresourcedefinitions", "", "ingresses.networking.k8s.io")).unwrap();
    assert_eq!(cluster.list("networking.k8s.io", "ingresses", None).len(), before + 1);
}

fn widgets() -> Value {
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "kind": "Widget"},
        },
    })
}

fn widget(namespace: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": namespace}})
}

fn widget_definition() -> Key {
    Key::new("apiextensions.k8s.io", "customresourcedefinitions", "", "widgets.example.com")
}

#[test]
fn what_hangs_on_the_objects_of_a_definition_goes_with_it() {
    let cluster = Cluster::new("a");
    cluster.create(widgets()).unwrap();
    let owner = cluster.create(widget("default")).unwrap();
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": object::uid(&owner),
    }]);
    cluster.create(child).unwrap();
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})).unwrap();
    let mut held = widget("n");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(held).unwrap();
    let namespace = Key::new("", "namespaces", "", "n");
    cluster.delete(&namespace).unwrap();
    assert!(cluster.get(&namespace).is_some(), "it waits for the widget");
    cluster.delete(&widget_definition()).unwrap();
    assert_eq!(cluster.get(&key("child")), None);
    assert_eq!(cluster.get(&namespace), None);
}

#[test]
fn the_table_of_a_removed_definition_does_not_come_back() {
    let options = ClusterOptions { history_changes: 3, ..ClusterOptions::default() };
    let cluster = Cluster::with_options("a", options);
    cluster.create(widgets()).unwrap();
    let resource = cluster.resource(&Key::new("example.com", "widgets", "default", "w")).unwrap();
    cluster.create(widget("default")).unwrap();
    let then = cluster.revision() - 1;
    cluster.delete(&widget_definition()).unwrap();
    assert_eq!(cluster.insert(&resource, widget("default"), false).unwrap_err().code, 404);
    let collection = cluster.collection(&resource);
    assert!(!cluster.store.read().has(&resource.storage));
    for name in ["a", "b", "c"] {
        cluster.create(config_map(name)).unwrap();
    }
    cluster.create(widgets()).unwrap();
    assert!(matches!(collection.changes(then, 10), Err(crate::storage::ChangesError::Gone(_))));
}

#[test]
fn list_of_an_older_version_undoes_what_happened_since() {
    let cluster = Cluster::new("a");
    for name in ["a", "b", "c"] {
        cluster.create(config_map(name)).unwrap();
    }
    let then = cluster.revision();
    cluster.delete(&key("a")).unwrap();
    cluster.update(&key("b"), |object| object["data"] = json!({"x": "y"})).unwrap();
    cluster.create(config_map("d")).unwrap();
    let resource = cluster.resource(&key("a")).unwrap();
    let names = |at: Option<u64>| {
        let snapshot = cluster.collection(&resource).snapshot("default/", None, at).unwrap();
        snapshot.items.map(|item| (item.path.to_string(), item.object.len())).collect::<Vec<_>>()
    };
    let paths = |items: &[(String, usize)]| items.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&names(Some(then))), ["default/a", "default/b", "default/c"]);
    assert_eq!(paths(&names(None)), ["default/b", "default/c", "default/d"]);
    assert!(names(None)[0].1 > names(Some(then))[1].1, "b has got data since");
    cluster.compact();
    assert!(cluster.collection(&resource).snapshot("default/", None, Some(then)).is_err());
}
