//! Only what is needed leaves the cluster: `onlySpinnakerManaged` and `redact: minimal` hold at the agent.

use serde_json::{Value, json};
use spindrift_playground::Key;
use spindrift_testkit::{AgentProcess, Database, FaultProxy, HubProcess, eventually};

use crate::{
    engine::Stage,
    support::{LONG, Stack, widget_crd},
};

/// Kinds that the hub caches.
const KINDS: [&str; 5] = ["ConfigMap", "Deployment", "Pod", "Widget", "Namespace"];

/// A stack whose link is recorded, without compression.
async fn recorded(settings: &[(&str, Value)], account: Value) -> Stack {
    let database = Database::sqlite().unwrap();
    let kinds = [("/kubesvc/cache/cacheKinds", json!(KINDS))];
    let hub = HubProcess::start("hub-a", &database, &[&kinds[..], settings].concat()).await.unwrap();
    let link = FaultProxy::start(hub.grpc()).await.unwrap();
    link.record();
    let agent = json!({
        "clouddriver": { "grpc": link.addr().to_string(), "compression": false },
        "kubernetes": { "accounts": [account] },
    });
    let agent = AgentProcess::with_settings("agent-a", agent).unwrap();
    Stack { agent, link, hub, database }
}

/// Asserts that a word is neither in the store nor on the wire nor in a response.
async fn assert_absent(stack: &Stack, word: &str) {
    let objects = stack.hub.text("/v1/objects?limit=1000").await.unwrap();
    for (place, bytes) in [
        ("the store", stack.database.dump().await.unwrap()),
        ("the wire", stack.link.recorded()),
        ("REST", objects.into_bytes()),
    ] {
        assert!(!contains(&bytes, word), "{word} is in {place}");
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

fn pod_spec(canary: &str) -> Value {
    json!({ "containers": [{
        "name": "main", "image": "shown:1", "command": ["sh", canary], "args": [canary],
        "env": [{ "name": "TOKEN", "value": canary }],
        "livenessProbe": { "exec": { "command": [canary] } },
        "lifecycle": { "preStop": { "exec": { "command": [canary] } } },
    }] })
}

/// Objects of several kinds with a canary wherever minimal redaction removes something.
fn objects(name: &str, canary: &str) -> [Value; 4] {
    let annotations = json!({ "example.com/token": canary, "moniker.spinnaker.io/application": "shop",
        "kubectl.kubernetes.io/last-applied-configuration": format!("{{\"a\":\"{canary}\"}}") });
    let metadata = json!({ "name": name, "namespace": "default", "labels": { "app": name }, "annotations": annotations });
    let template = json!({ "metadata": { "labels": { "app": name }, "annotations": annotations }, "spec": pod_spec(canary) });
    [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "password": canary },
            "binaryData": { "b": "Y2FuYXJ5" } }),
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": { "replicas": 0, "selector": { "matchLabels": { "app": name } }, "template": template } }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(canary) }),
        json!({ "apiVersion": "min.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": { "key": canary } }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn minimal_redaction_sends_what_views_need_and_no_canary() {
    let stage = Stage::set(1).await;
    let cluster = &stage.fleet.clusters[0];
    let canary: String = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
    cluster.create(widget_crd("min.example.com")).unwrap();
    for object in objects("first", &canary) {
        cluster.create(object).unwrap();
    }
    let mut account = stage.accounts()[0].clone();
    account["redact"] = json!("minimal");
    let mut stack = recorded(&[], account.clone()).await;
    let name = cluster.name();
    stack.synced(name).await;
    let has = async |stack: &Stack, object: &str| stack.names(name).await.iter().any(|it| it == object);
    for object in [
        "ConfigMap. default/first",
        "Deployment.apps default/first",
        "Pod. default/first",
        "Widget.min.example.com default/first",
    ] {
        eventually!(format!("{object} is cached"), LONG, has(&stack, object).await);
    }
    // Changes, too, and the results of operations.
    for object in objects("second", &canary) {
        cluster.create(object).unwrap();
    }
    eventually!("later ones are cached", LONG, has(&stack, "Widget.min.example.com default/second").await);
    let operations = stack.hub.operations(name);
    for kind in ["configmaps", "deployments", "widgets"] {
        let read = operations.ask(&json!({ "verb": "list", "kind": kind })).await.unwrap();
        assert!(read.is_done() && !read.json().to_string().contains(&canary), "{kind}");
    }
    assert_absent(&stack, &canary).await;

    let deployment =
        stack.hub.objects(&[("kind", "Deployment"), ("name", "first")]).await.unwrap().remove(0).object;
    let annotations = json!({ "moniker.spinnaker.io/application": "shop" });
    let kept: Vec<_> = deployment["metadata"]["annotations"].as_object().unwrap().keys().collect();
    assert!(
        kept.iter().all(|key| key.contains("spinnaker.io/") || key.contains("deployment.kubernetes.io/")),
        "{kept:?}"
    );
    assert_eq!(deployment["spec"]["template"]["metadata"]["annotations"], annotations);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["value"]), (&json!("shown:1"), &json!("REDACTED")));
    let applications = stack.hub.get("/applications").await.unwrap();
    assert_eq!(applications[0]["name"], "shop", "the views have what they need: {applications}");

    // Without the preset the canary is found: the search can fail.
    account["redact"] = json!([]);
    stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = json!([account])).unwrap();
    eventually!("it is sent", LONG, contains(&stack.link.recorded(), &canary));
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_spinnaker_did_not_deploy_are_never_sent() {
    // By the account itself, whatever the hub says, and by the hub for accounts that do not say.
    for is_own in [true, false] {
        let stage = Stage::set(1).await;
        let cluster = &stage.fleet.clusters[0];
        let own = if is_own { json!(true) } else { Value::Null };
        let by_hub = json!({ cluster.name(): { "onlySpinnakerManaged": !is_own } });
        let canary: String = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
        let map = |name: &str, application: Option<&str>| {
            let annotations = match application {
                Some(application) => json!({ "moniker.spinnaker.io/application": application }),
                None => json!({}),
            };
            let metadata = json!({ "name": name, "namespace": "default", "annotations": annotations });
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
        };
        let foreign = format!("foreign-{}", canary.to_lowercase());
        cluster.create(map(&foreign, None)).unwrap();
        cluster.create(map("managed", Some("shop"))).unwrap();
        let mut account = stage.accounts()[0].clone();
        account["onlySpinnakerManaged"] = own;
        let stack = recorded(&[("/kubesvc/runtime/accounts", by_hub)], account).await;
        let name = cluster.name();
        stack.synced(name).await;
        let has = async |object: &str| stack.names(name).await.iter().any(|it| it == object);
        eventually!("the managed one is cached", LONG, has("ConfigMap. default/managed").await);
        assert!(
            stack.names(name).await.iter().any(|it| it.starts_with("Namespace. ")),
            "namespaces are sent"
        );

        // One that is released is deleted for the hub; one that is taken over appears.
        let key = |name: &str| Key::new("", "configmaps", "default", name);
        cluster.update(&key("managed"), |it| it["metadata"]["annotations"] = json!({})).unwrap();
        eventually!("it is gone", LONG, !has("ConfigMap. default/managed").await);
        cluster.update(&key(&foreign), |it| it["metadata"]["labels"] = json!({ "seen": "no" })).unwrap();
        cluster.create(map("later", Some("shop"))).unwrap();
        eventually!("a new one is cached", LONG, has("ConfigMap. default/later").await);
        assert_absent(&stack, &foreign).await;
    }
}
