//! Settings of an account that decide which rows are shown, changed while all runs.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use super::get;
use crate::support::{LONG, Stack};

fn account(cluster: &Cluster, namespace: &str, setting: &str, value: bool) -> Value {
    json!({ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [namespace], setting: value })
}

/// The names of applications that objects belong to, with or without a cluster.
async fn applications(stack: &Stack, expected: &[&str]) {
    eventually(&format!("the applications are {expected:?}"), LONG, || async {
        let answer = get(&stack.hub, "/search?type=applications").await.json();
        // Kubernetes itself has objects in every namespace.
        let names = answer[0]["results"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str());
        let names: Vec<_> = names.filter(|name| !name.starts_with("kube")).collect();
        (names == expected).then_some(()).ok_or(format!("{names:?}"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_objects_are_shown_by_the_new_settings_of_their_account() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("settings").await.unwrap();
    let config = |name: &str, annotations: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace, "annotations": annotations } });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "junk-web", "namespace": namespace },
        "spec": { "ports": [{ "port": 80 }] } });
    let managed = json!({ "moniker.spinnaker.io/application": "bazaar" });
    let items = [config("managed", managed), config("lonely", json!({})), service];
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    cluster.kubectl_stdin(&["create", "-f", "-"], &list).await.unwrap();

    let accounts = json!([account(cluster, namespace, "onlySpinnakerManaged", false)]);
    let mut stack =
        Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap", "Service"], accounts).await;
    stack.synced("main").await;
    applications(&stack, &["junk"]).await;
    // Nothing changes in the cluster: only the rows of stored objects.
    for (setting, value, expected) in [
        ("onlySpinnakerManaged", true, &[][..]),
        ("cacheAllApplicationRelationships", true, &["bazaar", "junk", "lonely"]),
        ("onlySpinnakerManaged", false, &["junk"]),
    ] {
        let accounts = json!([account(cluster, namespace, setting, value)]);
        stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = accounts).unwrap();
        applications(&stack, expected).await;
        // An application exists by its clusters, and none of these has one.
        assert_eq!(get(&stack.hub, "/applications").await.json(), json!([]), "{setting}");
        assert_eq!(get(&stack.hub, "/applications/junk").await.status, 404, "{setting}");
    }
    let ignored = ["annotate", "service", "junk-web", "-n", namespace, "caching.spinnaker.io/ignore=true"];
    cluster.kubectl(&ignored).await.unwrap();
    applications(&stack, &[]).await;
    let found = get(&stack.hub, &format!("/search?q={namespace}&type=service")).await;
    assert_eq!(found.json()[0]["totalMatches"], 0, "{found:?}");
}
