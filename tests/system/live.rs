//! Objects that are created, changed and deleted with the real kubectl show up, change and go away.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, StoredObject, Watch, eventually};

use crate::support::{LONG, Stack, account, config_maps, widget, widget_crd};

/// The API server's own answer, without the fields that the agent cuts.
async fn original(cluster: &Cluster, kind: &str, namespace: &str, name: &str) -> Value {
    let text = cluster
        .kubectl(&["get", kind, name, "-n", namespace, "-o", "json", "--show-managed-fields=false"])
        .await
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

async fn stored(stack: &Stack, kind: &str, namespace: &str, name: &str) -> Option<StoredObject> {
    let query = [("account", "main"), ("kind", kind), ("namespace", namespace), ("name", name)];
    stack.hub.objects(&query).await.unwrap().pop()
}

async fn told(watch: &mut Watch, event: &str, kind: &str, name: &str) -> Value {
    let fits = |e: &spindrift_testkit::WatchEvent| {
        e.event == event && e.data["kind"] == kind && e.data["name"] == name
    };
    watch.find(fits).await.unwrap().data
}

/// Applies, changes and deletes one object, and looks for it in the list and on the watch after each step.
async fn follow(cluster: &Cluster, stack: &Stack, manifest: &Value, change: Value) {
    let kind = manifest["kind"].as_str().unwrap();
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let namespace = manifest["metadata"]["namespace"].as_str().unwrap();
    let resource = match manifest["apiVersion"].as_str().unwrap().split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    };
    let mut watch = stack.hub.watch(&[("account", "main"), ("kind", &resource)], None).await.unwrap();
    watch.find(|event| event.event == "synced").await.unwrap();

    cluster.kubectl_stdin(&["apply", "-f", "-"], &manifest.to_string()).await.unwrap();
    let created = told(&mut watch, "upsert", kind, name).await;
    cluster
        .kubectl(&["patch", &resource, name, "-n", namespace, "--type=merge", "-p", &change.to_string()])
        .await
        .unwrap();
    let newest = original(cluster, &resource, namespace, name).await;
    let changed =
        eventually(&format!("{kind} {name} is in the hub as it is in the cluster"), LONG, || async {
            let stored = stored(stack, &resource, namespace, name).await.ok_or("not there")?;
            let same = stored.resource_version == newest["metadata"]["resourceVersion"];
            same.then_some(stored).ok_or("an older version")
        })
        .await;
    assert_eq!(changed.object, expected(newest), "the body is the API server's");
    assert_eq!(created["uid"], changed.uid);
    let fits = |e: &spindrift_testkit::WatchEvent| e.data["resourceVersion"] == changed.resource_version;
    assert_eq!(watch.find(fits).await.unwrap().data["object"], changed.object);

    cluster.kubectl(&["delete", &resource, name, "-n", namespace, "--now"]).await.unwrap();
    assert_eq!(told(&mut watch, "delete", kind, name).await["uid"], changed.uid);
    eventually!("it goes away", stored(stack, &resource, namespace, name).await.is_none());
}

/// Of a Secret only the metadata is there, and of that not the annotation that repeats its values.
fn expected(mut original: Value) -> Value {
    if original["kind"] == "Secret" {
        let fields = original.as_object_mut().unwrap();
        fields.remove("data");
        fields.remove("type");
        let metadata = fields["metadata"].as_object_mut().unwrap();
        let annotations = metadata["annotations"].as_object_mut().unwrap();
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration").unwrap();
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    original
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_live_in_the_hub_as_they_do_in_the_cluster() {
    let cluster = Cluster::shared().await.unwrap();
    let group = "live.example.com";
    let kinds = ["Pod", "Deployment", "Secret", "CustomResourceDefinition", "Widget"];
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &kinds).await;
    stack.synced("main").await;
    let namespace = &cluster.namespace("live").await.unwrap();
    let metadata = |name: &str| json!({ "name": name, "namespace": namespace, "labels": { "app": "shop" } });
    let labelled = json!({ "metadata": { "labels": { "tier": "web" } } });
    let container = json!([{ "name": "main", "image": "shop:1" }]);

    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata("cart"),
        "spec": { "containers": container } });
    follow(cluster, &stack, &pod, labelled.clone()).await;

    let template =
        json!({ "metadata": { "labels": { "app": "shop" } }, "spec": { "containers": container } });
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("shop"),
        "spec": { "selector": { "matchLabels": { "app": "shop" } }, "template": template } });
    follow(cluster, &stack, &deployment, json!({ "spec": { "replicas": 3 } })).await;

    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata("password"),
        "stringData": { "password": "hunter2" } });
    follow(cluster, &stack, &secret, labelled.clone()).await;

    // The CRD comes while everything runs; nothing is restarted.
    cluster.kubectl_stdin(&["apply", "-f", "-"], &widget_crd(group).to_string()).await.unwrap();
    cluster
        .kubectl(&["wait", "--for=condition=established", &format!("crd/widgets.{group}"), "--timeout=30s"])
        .await
        .unwrap();
    eventually!("widgets are watched", LONG, {
        stack.agent.get("/watches").await.unwrap()["main"]["watching"].to_string().contains(group)
    });
    follow(cluster, &stack, &widget(group, namespace, "gear", 1), json!({ "spec": { "size": 2 } })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_misses_nothing_and_one_that_is_too_late_is_reset() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::sqlite().unwrap();
    let stack = Stack::start(cluster, database, &["ConfigMap"]).await;
    stack.synced("main").await;
    let namespace = &cluster.namespace("reader").await.unwrap();
    let query = [("account", "main"), ("kind", "ConfigMap"), ("namespace", namespace.as_str())];
    let create = async |name: &str| {
        cluster.kubectl(&["create", "configmap", name, "-n", namespace]).await.unwrap();
    };

    let mut watch = stack.hub.watch(&query, None).await.unwrap();
    let synced = watch.find(|event| event.event == "synced").await.unwrap();
    let position = synced.id.expect("a position comes with it");
    create("first").await;
    told(&mut watch, "upsert", "ConfigMap", "first").await;
    drop(watch);
    create("second").await;
    cluster.kubectl(&["delete", "configmap", "first", "-n", namespace]).await.unwrap();

    let mut back = stack.hub.watch(&query, Some(&position)).await.unwrap();
    told(&mut back, "upsert", "ConfigMap", "second").await;
    told(&mut back, "delete", "ConfigMap", "first").await;

    let mut lost = stack.hub.watch(&query, Some("main=999999999")).await.unwrap();
    assert_eq!(lost.next().await.unwrap().event, "reset", "a position from another database");
    told(&mut lost, "upsert", "ConfigMap", "second").await;

    stack.database.execute("UPDATE spindrift_cursor SET feed_floor = seq").await.unwrap();
    let mut late = stack.hub.watch(&query, Some(&position)).await.unwrap();
    assert_eq!(late.next().await.unwrap().event, "reset", "what happened since is forgotten");
    told(&mut late, "upsert", "ConfigMap", "second").await;

    let bad = reqwest::Client::new()
        .get(format!("{}/v1/objects/watch", stack.hub.url()))
        .header("Last-Event-ID", "yesterday");
    let answer = bad.send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("Last-Event-ID"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_and_paged() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    let namespace = &cluster.namespace("paged").await.unwrap();
    let manifest = config_maps(namespace, "item", 25, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
    cluster.kubectl(&["label", "configmap", "item-7", "special=yes", "-n", namespace]).await.unwrap();
    let count = async |extra: &[(&str, &str)]| {
        let mut query = vec![("namespace", namespace.as_str()), ("kind", "configmaps")];
        query.extend(extra);
        stack.hub.objects(&query).await.unwrap().len()
    };
    eventually!("all are there", LONG, count(&[("labelSelector", "batch=item")]).await == 25);
    assert_eq!(count(&[("labelSelector", "batch=item"), ("limit", "4")]).await, 25, "over all pages");
    eventually!("the label is there", LONG, count(&[("labelSelector", "special")]).await == 1);
    assert_eq!(count(&[("labelSelector", "special!=yes,batch=item"), ("limit", "2")]).await, 24);
    assert_eq!(count(&[("name", "item-3")]).await, 1);
    assert_eq!(count(&[("account", "other")]).await, 0);

    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=many", "query"),
        ("continue=x", "continue"),
        ("labelSelector=a%20b", "labelSelector"),
    ] {
        let answer = reqwest::get(format!("{}/v1/objects?{query}", stack.hub.url())).await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        assert!(body["message"].as_str().unwrap().starts_with(field), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_objects_of_several_accounts_do_not_mix_on_their_channel() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("large").await.unwrap();
    let manifest = config_maps(namespace, "large", 6, &"x".repeat(700_000));
    cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
    // Three names for one cluster: each account lists the same large objects at the same time.
    let accounts = json!(["a", "b", "c"].map(|name| account(name, cluster)));
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    for name in ["a", "b", "c"] {
        let query = [("account", name), ("namespace", namespace.as_str()), ("labelSelector", "batch=large")];
        eventually!("all are there", LONG, stack.hub.objects(&query).await.unwrap().len() == 6);
    }
    let metrics = stack.hub.text("/metrics").await.unwrap();
    assert!(metrics.contains("spindrift_hub_violations_total 0\n"), "{metrics}");
    assert!(metrics.contains("spindrift_hub_registrations_total 1\n"), "one session was enough: {metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_hears_all_of_a_batch_that_is_longer_than_a_page() {
    let cluster = Cluster::shared().await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    let namespace = &cluster.namespace("burst").await.unwrap();
    cluster.kubectl_stdin(&["create", "-f", "-"], &config_maps(namespace, "many", 450, "x")).await.unwrap();
    let query = [("namespace", namespace.as_str()), ("labelSelector", "batch=many")];
    eventually!("all are there", LONG, stack.hub.objects(&query).await.unwrap().len() == 450);
    let mut watch = stack.hub.watch(&[("namespace", namespace)], None).await.unwrap();
    watch.find(|event| event.event == "synced").await.unwrap();

    // The kind is omitted, so all of it goes in one transaction.
    stack.agent.configure(|settings| {
        settings["kubernetes"]["accounts"][0]["omitKinds"] = json!(["ConfigMap"]);
    });
    stack.agent.restart().unwrap();
    for _ in 0..450 {
        watch.find(|event| event.event == "delete").await.unwrap();
    }
}
