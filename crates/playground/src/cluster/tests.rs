//! A cluster as controllers in this process use it.

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
