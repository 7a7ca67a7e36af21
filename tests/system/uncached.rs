//! Kinds that the hub does not cache are read from the clusters, through the agents.

use std::process::{Command, Output};

use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, Faults, Key};
use spindrift_testkit::{Daemon, binary, eventually};

use crate::{
    engine::Stage,
    support::{LONG, Stack, widget, widget_crd},
};

/// Two clusters whose ConfigMaps and Widgets are not cached.
async fn started() -> (Stage, Stack, [String; 2]) {
    let stage = Stage::set(2).await;
    for (index, cluster) in stage.fleet.clusters.iter().enumerate() {
        for name in ["one", "two"] {
            let metadata = json!({ "name": name, "namespace": "default", "labels": { "app": name } });
            let data = json!({ "cluster": index.to_string() });
            let object =
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
            cluster.create(object).unwrap();
        }
    }
    stage.fleet.clusters[0].create(widget_crd("live.example.com")).unwrap();
    stage.fleet.clusters[0].create(widget("live.example.com", "default", "gear", 3)).unwrap();
    let stack = Stack::with_settings(&["Namespace"], json!(stage.accounts()), &[]).await;
    let names = [0, 1].map(|index| stage.fleet.clusters[index].name().to_owned());
    for name in &names {
        stack.synced(name).await;
        eventually!("the hub shows its agent", LONG, !stack.account(name).await["cachedBy"].is_null());
    }
    (stage, stack, names)
}

fn spindrift(stack: &Stack, args: &[&str]) -> Output {
    let mut command = Command::new(binary("spindrift").unwrap());
    command.env("SPINDRIFT_HUB", stack.hub.url()).env("SPINDRIFT_CONFIG", "/nonexistent/config.yml");
    command.args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Account and name of the items of a page.
fn items(page: &Value) -> Vec<String> {
    let name =
        |item: &Value| format!("{}/{}", item["account"].as_str().unwrap(), item["name"].as_str().unwrap());
    page["items"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_cached_is_read_live_and_marked() {
    let (stage, stack, [first, second]) = started().await;
    let plain = stack.hub.get("/v1/objects?kind=cm").await.unwrap();
    assert_eq!((items(&plain), &plain["uncached"]), (vec![], &json!(["cm"])));
    let url = format!(
        "{}/v1/objects?kind=configmaps&namespace=default&labelSelector=app%3Done&live=true",
        stack.hub.url()
    );
    let response = reqwest::get(&url).await.unwrap();
    assert_eq!(response.headers()["x-spindrift-live"], "true");
    let live: Value = response.json().await.unwrap();
    assert_eq!(items(&live), [format!("{first}/one"), format!("{second}/one")]);
    assert_eq!((&live["live"], &live["items"][1]["object"]["data"]["cluster"]), (&json!(true), &json!("1")));
    assert_eq!(live["items"][0]["object"]["kind"], "ConfigMap");
    let named = format!("/v1/objects?kind=cm&namespace=default&name=two&account={second}&live=true");
    assert_eq!(items(&stack.hub.get(&named).await.unwrap()), [format!("{second}/two")]);
    let fields = "/v1/objects?kind=cm&fieldSelector=data.cluster%3D1&live=true";
    assert_eq!(items(&stack.hub.get(fields).await.unwrap()).len(), 2);
    assert!(stack.hub.get("/v1/objects?live=true").await.is_err(), "every kind of every cluster");

    // Custom kinds, by all their names, where they are served.
    for kind in ["widgets", "Widget.live.example.com"] {
        let page = stack.hub.get(&format!("/v1/objects?kind={kind}&live=true")).await.unwrap();
        assert_eq!(items(&page), [format!("{first}/gear")], "{kind}");
    }
    let kinds = stack.hub.get("/v1/api-resources?live=true").await.unwrap();
    let found = kinds.as_array().unwrap().iter().find(|it| it["kind"] == "Widget").unwrap();
    assert_eq!((&found["cached"], &found["accounts"]), (&json!(false), &json!(1)));

    // A cluster that refuses the read costs its own objects only.
    let faults = Faults::before(&stage.fleet.clusters[1]);
    faults.inject(Fault::new(Effect::Status { code: 403, retry_after: None }).of_resource("configmaps"));
    let page = stack.hub.get("/v1/objects?kind=cm&labelSelector=app%3Done&live=true").await.unwrap();
    let named: Vec<_> = page["problems"].as_array().unwrap().iter().map(|it| &it["account"]).collect();
    assert_eq!((named, items(&page)), (vec![&json!(second)], vec![format!("{first}/one")]), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn get_and_describe_read_kinds_live_and_say_so() {
    let (_stage, stack, [first, second]) = started().await;
    let note = "configmaps are not cached by the hub; read live from the clusters";
    let all = spindrift(&stack, &["get", "cm", "-o", "name"]);
    assert!(all.status.success() && stderr(&all).contains(note), "{all:?}");
    assert_eq!(stdout(&all).matches("configmap/one").count(), 2, "{all:?}");
    let one = spindrift(&stack, &["get", "cm", "one", "-a", &second, "-o", "jsonpath={.data.cluster}"]);
    assert_eq!(stdout(&one), "1", "{one:?}");
    let described = spindrift(&stack, &["describe", "configmap/two", "-a", &first]);
    assert!(stdout(&described).contains("Name:") && stderr(&described).contains(note), "{described:?}");
    let widgets = spindrift(&stack, &["get", "widgets.live.example.com", "gear", "-o", "name"]);
    assert_eq!(stdout(&widgets).trim(), "widget.live.example.com/gear", "{widgets:?}");
    let missing = spindrift(&stack, &["get", "cm", "three"]);
    assert!(stderr(&missing).contains("configmaps \"three\" not found") && !missing.status.success());
    let unknown = spindrift(&stack, &["get", "gadgets"]);
    assert!(stderr(&unknown).contains("doesn't have a resource type \"gadgets\""), "{unknown:?}");
    let cached = spindrift(&stack, &["get", "ns"]);
    assert!(!stderr(&cached).contains("live"), "{cached:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn get_watches_a_kind_that_is_not_cached() {
    let (stage, stack, [first, _]) = started().await;
    let url = stack.hub.url();
    let env = [("SPINDRIFT_HUB", url.as_str()), ("SPINDRIFT_CONFIG", "/nonexistent/config.yml")];
    let args = ["get", "cm", "-a", &first, "-w", "--output-watch-events", "-o", "json"];
    let watch = Daemon::spawn(binary("spindrift").unwrap(), &args, &env).unwrap();
    watch.wait_for_log("\"type\": \"ADDED\"").await.unwrap();
    let key = Key::new("", "configmaps", "default", "one");
    stage.fleet.clusters[0].update(&key, |it| it["data"]["cluster"] = "changed".into()).unwrap();
    watch.wait_for_log("changed").await.unwrap();
    let metadata = json!({ "name": "three", "namespace": "default" });
    stage.fleet.clusters[0]
        .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))
        .unwrap();
    watch.wait_for_log("three").await.unwrap();
    stage.fleet.clusters[0].delete(&key).unwrap();
    watch.wait_for_log("DELETED").await.unwrap();
    let refused = reqwest::get(format!("{url}/v1/objects/watch?kind=cm&live=true")).await.unwrap();
    assert_eq!(refused.status(), 400);
}
