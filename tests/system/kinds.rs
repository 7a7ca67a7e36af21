//! Watched kinds: those of hub and account, while the API server's kinds come, change and go.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, HubProcess, eventually};

use crate::{
    engine::Stage,
    support::{LONG, Stack, account},
};

/// A definition whose kinds are served in these versions, newest last.
fn definition(group: &str, kind: &str, short_name: &str, versions: &[&str]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = |(number, name): (usize, &&str)| {
        let storage = number + 1 == versions.len();
        json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "shortNames": [short_name] },
            "versions": versions.iter().enumerate().map(version).collect::<Vec<_>>(),
        },
    })
}

async fn apply(cluster: &Cluster, object: &Value) {
    eventually!("the API server takes it", LONG, {
        cluster.kubectl_stdin(&["apply", "-f", "-"], &object.to_string()).await
    });
}

fn custom(group: &str, version: &str, kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": kind,
        "metadata": { "name": name, "namespace": "default" },
    })
}

async fn has(stack: &Stack, name: &str) -> bool {
    stack.names("main").await.iter().any(|it| it == name)
}

/// The versions in which a kind's objects are stored.
async fn versions(stack: &Stack, kind: &str) -> Vec<String> {
    let objects = stack.hub.objects(&[("account", "main"), ("kind", kind)]).await.unwrap();
    objects.into_iter().map(|object| format!("{} {}", object.name, object.version)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_come_change_and_go_and_watches_follow() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    // Older than the agent; the kind's name is that of a built-in one.
    apply(&cluster, &definition("shop.example.com", "Job", "sj", &["v1"])).await;
    apply(&cluster, &custom("shop.example.com", "v1", "Job", "errand")).await;
    // An API whose server does not exist, and a definition that can never be served: its names are taken.
    apply(
        &cluster,
        &json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": { "name": "v1.nowhere.example.com" },
            "spec": {
                "group": "nowhere.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                "insecureSkipTLSVerify": true, "service": { "name": "nobody", "namespace": "default" },
            },
        }),
    )
    .await;
    let mut conflicting = definition("shop.example.com", "Job", "sj", &["v1"]);
    conflicting["metadata"]["name"] = "orders.shop.example.com".into();
    conflicting["spec"]["names"]["plural"] = "orders".into();
    apply(&cluster, &conflicting).await;

    let mut main = account("main", &cluster);
    main["kinds"] =
        json!(["sj", "JOBS.batch", "gizmo.toys.example.com", "customResourceDefinition", "Ghost"]);
    let kinds = ["Job", "gz", "CustomResourceDefinition", "ConfigMap", "Ghost"];
    let stack = Stack::with_settings(&kinds, json!([main]), &[]).await;
    eventually!(
        "the older definition's objects are there",
        LONG,
        has(&stack, "Job.shop.example.com default/errand").await
    );
    stack.synced("main").await;
    let accounts = stack.agent.get("/accounts").await.unwrap();
    let shown = accounts[0]["Kinds"].as_array().unwrap();
    assert_eq!(
        shown,
        &["CustomResourceDefinition.apiextensions.k8s.io", "Job.batch", "Job.shop.example.com"],
        "both groups' kind of that name, and nothing that the account does not name"
    );
    let problems = accounts[0]["Problems"].to_string();
    assert!(problems.contains("nowhere.example.com cannot be discovered"), "{problems}");
    assert!(problems.contains("serves no kind \\\"Ghost\\\""), "{problems}");

    // A new one, chosen by the short name that it brings along.
    apply(&cluster, &definition("toys.example.com", "Gizmo", "gz", &["v1"])).await;
    apply(&cluster, &custom("toys.example.com", "v1", "Gizmo", "top")).await;
    eventually!(
        "the new definition's objects are there",
        LONG,
        versions(&stack, "Gizmo").await == ["top v1"]
    );

    // It is served, and stored, in a newer version.
    apply(&cluster, &definition("toys.example.com", "Gizmo", "gz", &["v1", "v2"])).await;
    eventually!("they are read in the newer version", LONG, versions(&stack, "Gizmo").await == ["top v2"]);
    apply(&cluster, &custom("toys.example.com", "v2", "Gizmo", "yoyo")).await;
    eventually!("and go on", LONG, versions(&stack, "Gizmo").await == ["top v2", "yoyo v2"]);

    // It goes, and so do its rows; the others are not disturbed.
    cluster.kubectl(&["delete", "crd", "gizmos.toys.example.com", "--wait=false"]).await.unwrap();
    eventually!("its rows are gone", LONG, versions(&stack, "Gizmo").await.is_empty());
    apply(&cluster, &custom("shop.example.com", "v1", "Job", "second")).await;
    eventually!("the others flow", LONG, has(&stack, "Job.shop.example.com default/second").await);
    let watches = stack.agent.get("/watches").await.unwrap();
    for watch in watches["main"]["watching"].as_array().unwrap() {
        assert_eq!(watch["listings"], 1, "{watch}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_selects_the_kinds_and_may_select_all_of_them() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    apply(&cluster, &definition("toys.example.com", "Gizmo", "gz", &["v1"])).await;
    apply(&cluster, &custom("toys.example.com", "v1", "Gizmo", "top")).await;
    cluster.kubectl(&["create", "configmap", "seen"]).await.unwrap();
    let database = Database::sqlite().unwrap();
    let mut stack = Stack::with_accounts(database, &["configMaps"], json!([account("main", &cluster)])).await;
    eventually!("a kind is there", LONG, has(&stack, "ConfigMap. default/seen").await);
    stack.synced("main").await;
    assert!(!has(&stack, "Gizmo.toys.example.com default/top").await);

    restart_with(&mut stack.hub, true, &["gz"]).await;
    eventually!(
        "all kinds are there",
        LONG,
        has(&stack, "ClusterRole.rbac.authorization.k8s.io /admin").await
    );
    stack.synced("main").await;
    assert!(has(&stack, "ConfigMap. default/seen").await);
    assert!(!has(&stack, "Gizmo.toys.example.com default/top").await, "but not those that are omitted");

    restart_with(&mut stack.hub, false, &[]).await;
    eventually!("what is no longer wanted goes", LONG, {
        !has(&stack, "ClusterRole.rbac.authorization.k8s.io /admin").await
    });
    assert!(has(&stack, "ConfigMap. default/seen").await);
}

async fn restart_with(hub: &mut HubProcess, all: bool, omitted: &[&str]) {
    hub.configure("/kubesvc/cache/cacheAll", json!(all));
    hub.configure("/kubesvc/cache/cacheOmitKinds", json!(omitted));
    hub.restart().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_caches_its_own_kinds_whatever_the_hub_caches_by_default() {
    let stage = Stage::set(2).await;
    let [own, other] = [0, 1].map(|index| stage.fleet.clusters[index].name());
    for cluster in &stage.fleet.clusters {
        let metadata = json!({ "name": "mine", "namespace": "default" });
        for kind in ["ConfigMap", "ServiceAccount"] {
            cluster.create(json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata })).unwrap();
        }
    }
    let mut accounts = stage.accounts();
    accounts[0]["kinds"] = json!(["ConfigMap", "serviceAccounts", "pod"]);
    accounts[0]["omitKinds"] = json!(["Pod"]);
    let mut stack = Stack::with_settings(&["Namespace"], json!(accounts), &[]).await;
    eventually!("its own kind is cached", LONG, {
        stack.names(own).await.contains(&"ConfigMap. default/mine".to_owned())
    });
    stack.synced(own).await;
    stack.synced(other).await;
    assert_eq!(cached(&stack, own).await, ["ConfigMap", "ServiceAccount"]);
    assert_eq!(cached(&stack, other).await, ["Namespace"], "an account without a list follows the hub");

    // The hub has the last word on kinds to leave out, and both sides show the difference.
    stack.hub.configure("/kubesvc/cache/cacheOmitKinds", json!(["configmaps"]));
    stack.hub.restart().await.unwrap();
    eventually!(
        "it is left out",
        LONG,
        stack.names(own).await.iter().all(|name| !name.starts_with("ConfigMap"))
    );
    let problem = "the kind \"ConfigMap\" (kinds of the account) is not cached";
    let shown = stack.account(own).await;
    assert!(shown["problem"].as_str().is_some_and(|it| it.starts_with(problem)), "{shown}");
    assert_eq!(stack.account(other).await["problems"], json!([]));
    eventually!("the agent shows it", LONG, {
        let problems = stack.agent.get("/accounts").await.unwrap().to_string();
        problems.contains("the hub leaves out the kind")
    });
}

/// Kinds of an account that the agent caches.
async fn cached(stack: &Stack, account: &str) -> Vec<String> {
    let accounts = stack.agent.get("/accounts").await.unwrap();
    let found = accounts.as_array().unwrap().iter().find(|it| it["Config"]["Name"] == account).unwrap();
    found["Kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap().to_owned()).collect()
}
