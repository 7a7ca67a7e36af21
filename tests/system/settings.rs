//! Effects of Spinnaker's settings of an account.

use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, Faults, Key, Verb};
use spindrift_testkit::eventually;

use crate::{
    engine::Stage,
    support::{LONG, Stack, widget, widget_crd},
};

/// The one account of a stage, with further settings.
fn configured(stage: &Stage, settings: &Value) -> Value {
    let mut accounts = json!(stage.accounts());
    accounts[0].as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    accounts
}

/// A replica set, deployed by Spinnaker for an application or by another client.
fn server_group(name: &str, application: Option<&str>) -> Value {
    let annotations = match application {
        Some(application) => json!({ "moniker.spinnaker.io/application": application,
            "moniker.spinnaker.io/cluster": format!("replicaSet {name}") }),
        None => json!({}),
    };
    let template = json!({ "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "main", "image": "nginx" }] } });
    json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": { "name": name, "namespace": "default", "annotations": annotations },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": name } }, "template": template } })
}

/// The names of all applications.
async fn applications(stack: &Stack) -> Vec<String> {
    let all = stack.hub.get("/applications").await.unwrap();
    all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

async fn credentials(stack: &Stack, account: &str) -> Value {
    stack.hub.get(&format!("/credentials/{account}")).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_show_what_the_account_is() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    let settings = json!({
        "environment": "production", "accountType": "main", "cacheThreads": 3, "cacheIntervalSeconds": 5,
        "permissions": [{ "READ": [" Devs"] }, { "WRITE": ["sre"] }],
        "customResources": [{ "kubernetesKind": "Cart.example.com", "spinnakerKind": "serverGroups" }],
    });
    let stack = Stack::with_settings(&["Namespace"], configured(&stage, &settings), &[]).await;
    stack.synced(name).await;
    let shown = eventually!("it is shown", LONG, {
        let shown = credentials(&stack, name).await;
        shown.is_object().then_some(shown)
    });
    assert_eq!((&shown["environment"], &shown["accountType"]), (&json!("production"), &json!("main")));
    assert_eq!((&shown["cacheThreads"], &shown["cacheIntervalSeconds"]), (&json!(3), &json!(5)));
    assert_eq!(shown["permissions"], json!({ "READ": ["devs"], "WRITE": ["sre"] }));
    assert_eq!(shown["spinnakerKindMap"]["Cart.example.com"], "serverGroups");

    // Namespaces are those that there are.
    let has = async |namespace: &str| {
        let shown = credentials(&stack, name).await;
        shown["namespaces"].as_array().is_some_and(|names| names.contains(&json!(namespace)))
    };
    assert!(has("default").await);
    stage.fleet.clusters[0]
        .create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "late" } }))
        .unwrap();
    eventually!("a new one is shown", LONG, has("late").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_are_those_that_there_are_also_where_they_are_not_cached() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    let settings = json!({ "kinds": ["ConfigMap"], "omitNamespaces": ["hidden"] });
    let stack = Stack::with_settings(&["ConfigMap", "Namespace"], configured(&stage, &settings), &[]).await;
    stack.synced(name).await;
    for namespace in ["hidden", "late"] {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        stage.fleet.clusters[0].create(body).unwrap();
    }
    let shown = eventually!("a new one is shown", LONG, {
        let shown = credentials(&stack, name).await["namespaces"].clone();
        shown.as_array().is_some_and(|names| names.contains(&json!("late"))).then_some(shown)
    });
    assert!(!shown.as_array().unwrap().contains(&json!("hidden")), "{shown}");
    // It stays cached meanwhile, and only with its own kinds.
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "new", "namespace": "late" } });
    stage.fleet.clusters[0].create(object).unwrap();
    eventually!("it is cached", LONG, stack.names(name).await.contains(&"ConfigMap. late/new".to_owned()));
    assert!(stack.names(name).await.iter().all(|object| object.starts_with("ConfigMap. ")));
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_have_the_configured_marks() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    let settings = json!({ "environment": "production", "accountType": "main" });
    let mut stack = Stack::with_settings(&["Namespace"], configured(&stage, &settings), &[]).await;
    stack.synced(name).await;
    let marks = async |stack: &Stack| {
        let shown = credentials(stack, name).await;
        (shown["challengeDestructiveActions"].clone(), shown["primaryAccount"].clone())
    };
    assert_eq!(marks(&stack).await, (json!(false), json!(false)));
    let lists =
        json!({ "challengeDestructiveActionsEnvironments": ["production"], "primaryAccountTypes": ["main"] });
    stack.hub.configure("/credentials", lists);
    stack.hub.restart().await.unwrap();
    assert_eq!(marks(&stack).await, (json!(true), json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_without_an_agent_are_removed_where_configured() {
    let stage = Stage::set(2).await;
    let accounts = json!(stage.accounts());
    let [kept, gone] = [0, 1].map(|index| stage.fleet.clusters[index].name());
    let mut stack = Stack::with_settings(&["ConfigMap"], accounts.clone(), &[]).await;
    stack.synced(kept).await;
    stack.synced(gone).await;
    stack.hub.configure("/kubesvc/cache/accountCleanupFrequencySeconds", json!(5));
    stack.hub.restart().await.unwrap();
    stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = json!([accounts[0]])).unwrap();
    eventually!("it is forgotten", LONG, stack.account(gone).await.is_null());
    assert!(!stack.account(kept).await.is_null());
    assert_eq!(stack.names(gone).await, Vec::<String>::new());
    stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = accounts).unwrap();
    stack.synced(gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_without_an_agent_are_removed_after_ten_minutes_by_default() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    let mut stack = Stack::with_settings(&["ConfigMap"], json!(stage.accounts()), &[]).await;
    stack.synced(name).await;
    stack.agent.kill();
    // As if it were long ago, once the hub has recorded that its time begins.
    let backdate = "UPDATE spindrift_account SET unserved_since = 1 WHERE unserved_since > 1";
    eventually!("it is forgotten", LONG * 3, {
        stack.database.execute(backdate).await.unwrap();
        stack.account(name).await.is_null()
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_that_are_configured_are_shown_as_they_are() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    let settings = json!({ "namespaces": ["shop", "default"] });
    let stack = Stack::with_settings(&["ConfigMap"], configured(&stage, &settings), &[]).await;
    eventually!("in their order", LONG, {
        credentials(&stack, name).await["namespaces"] == json!(["shop", "default"])
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_spinnaker_deployed_is_seen_where_that_is_configured() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    stage.fleet.clusters[0].create(server_group("junk-v001", None)).unwrap();
    stage.fleet.clusters[0].create(server_group("web-v001", Some("shop"))).unwrap();
    let settings = json!({ "onlySpinnakerManaged": false });
    let mut stack = Stack::with_settings(&["ReplicaSet"], configured(&stage, &settings), &[]).await;
    stack.synced(name).await;
    eventually!("both are seen", LONG, applications(&stack).await == ["junk", "shop"]);

    // The hub's own setting precedes the agent's, and applies to stored objects.
    for (only_managed, seen) in [(true, &["shop"][..]), (false, &["junk", "shop"])] {
        let own = json!({ name: { "onlySpinnakerManaged": only_managed } });
        stack.hub.configure("/kubesvc/runtime/accounts", own);
        stack.hub.restart().await.unwrap();
        eventually!(format!("{seen:?} are seen"), LONG, applications(&stack).await == seen);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_resource_has_the_configured_spinnaker_kind() {
    let stage = Stage::set(1).await;
    let group = "shops.example.com";
    stage.fleet.clusters[0].create(widget_crd(group)).unwrap();
    stage.fleet.clusters[0].create(widget(group, "default", "cart-v001", 1)).unwrap();
    let kind = format!("Widget.{group}");
    let settings =
        json!({ "customResources": [{ "kubernetesKind": kind, "spinnakerKind": "serverGroups" }] });
    // The kind is cached without a setting for it.
    let stack = Stack::with_settings(&["ConfigMap"], configured(&stage, &settings), &[]).await;
    let is_shown = async |stack: &Stack| {
        let groups = stack.hub.get("/applications/cart/serverGroups").await.unwrap();
        groups[0]["name"] == format!("{kind} cart-v001")
    };
    eventually!("it is a server group", LONG, is_shown(&stack).await);

    let mut stack = Stack::with_settings(&["ConfigMap"], json!(stage.accounts()), &[]).await;
    stack.synced(stage.fleet.clusters[0].name()).await;
    assert!(!is_shown(&stack).await);
    stack.hub.configure("/kubesvc/runtime/defaults", settings);
    stack.hub.restart().await.unwrap();
    eventually!("it is one by the hub's own word", LONG, is_shown(&stack).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_resources_are_of_the_kinds_that_are_configured() {
    let stage = Stage::set(1).await;
    let name = stage.fleet.clusters[0].name();
    for (api_version, kind) in [("v1", "ConfigMap"), ("v1", "ServiceAccount")] {
        let metadata = json!({ "name": "shop-main", "namespace": "default" });
        let body = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
        stage.fleet.clusters[0].create(body).unwrap();
    }
    // Kinds may be written in any way.
    let settings = json!({ "cacheAllApplicationRelationships": true, "kinds": ["cm", "serviceaccounts"],
        "rawResourcesEndpointConfig": { "omitKindExpressions": ["config.*"] } });
    let kinds = ["ConfigMap", "ServiceAccount"];
    let stack = Stack::with_settings(&kinds, configured(&stage, &settings), &[]).await;
    stack.synced(name).await;
    eventually!("one kind is shown", LONG, {
        let shown = stack.hub.get("/applications/shop/rawResources").await.unwrap();
        let shown = shown.as_array().cloned().unwrap_or_default();
        shown.len() == 1 && shown[0]["kind"] == "serviceAccount"
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_are_reviewed_beforehand_unless_switched_off() {
    for (check, asked) in [(true, true), (false, false)] {
        let stage = Stage::set(1).await;
        let faults = Faults::before(&stage.fleet.clusters[0]);
        let refused = Effect::Status { code: 403, retry_after: None };
        let reviews = faults
            .inject(Fault::new(refused).of_verbs([Verb::Create]).of_resource("selfsubjectrulesreviews"));
        let settings = json!({ "checkPermissionsOnStartup": check });
        let stack = Stack::with_settings(&["ConfigMap"], configured(&stage, &settings), &[]).await;
        stack.synced(stage.fleet.clusters[0].name()).await;
        assert_eq!(faults.hits(reviews).unwrap() > 0, asked, "checkPermissionsOnStartup: {check}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_with_invalid_settings_reports_them_and_the_others_flow() {
    let stage = Stage::set(2).await;
    let mut accounts = stage.accounts();
    accounts[1]["customResources"] = json!([{ "kubernetesKind": "A.b", "spinnakerKind": "servers" }]);
    let stack = Stack::with_settings(&["ConfigMap"], json!(accounts), &[]).await;
    stack.synced(stage.fleet.clusters[0].name()).await;
    eventually!("the bad one says why", LONG, {
        stack.agent.daemon().log().contains("customResources[0].spinnakerKind: expected one of serverGroups")
    });
    let bad = stack.account(stage.fleet.clusters[1].name()).await;
    assert_eq!((&bad["cachedBy"], &bad["objects"]), (&Value::Null, &json!(0)), "{bad}");
    let reason = bad["unavailable"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("customResources[0].spinnakerKind: expected one of"), "{bad}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_objects_of_a_kind_are_cached_than_its_policy_wants() {
    let stage = Stage::set(1).await;
    let cluster = &stage.fleet.clusters[0];
    let account = cluster.name();
    let key = |name: &str| Key::new("", "configmaps", "shop", name);
    cluster
        .create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }))
        .unwrap();
    let create = |name: &str| {
        let metadata = json!({ "name": name, "namespace": "shop" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    };
    ["a", "b", "c", "d"].into_iter().for_each(create);
    let policy = json!([{ "kubernetesKind": "configMap", "maxEntriesPerAgent": 2 }]);
    let settings = json!({ "namespaces": ["shop"], "cachingPolicies": policy });
    let mut stack = Stack::with_settings(&["ConfigMap"], configured(&stage, &settings), &[]).await;
    let has = async |stack: &Stack, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("ConfigMap. shop/{name}")).collect();
        stack.names(account).await == names
    };
    eventually!("the first two are cached", LONG, has(&stack, &["a", "b"]).await);

    // New objects find no place; a place that becomes free is taken by the next change.
    create("e");
    cluster.delete(&key("a")).unwrap();
    cluster.update(&key("d"), |object| object["data"] = json!({ "touched": "yes" })).unwrap();
    eventually!("the place is taken", LONG, has(&stack, &["b", "d"]).await);

    // A restarted agent does not remember which objects had a place.
    stack.agent.restart().unwrap();
    eventually!("the first two are cached", LONG, has(&stack, &["b", "c"]).await);
    let accounts = configured(&stage, &json!({ "namespaces": ["shop"] }));
    stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = accounts).unwrap();
    // Kubernetes itself has one in every namespace.
    eventually!("all are cached", LONG, has(&stack, &["b", "c", "d", "e", "kube-root-ca.crt"]).await);
}
