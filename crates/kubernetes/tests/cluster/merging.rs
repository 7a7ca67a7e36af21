//! Patches have the same result here and on a real API server.

use http::{Method, Request};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
    strategy::ValueTree,
    test_runner::TestRunner,
};
use serde_json::{Value, json};
use spindrift_kubernetes::{Object, Schema, apply_strategic, three_way_strategic};
use spindrift_testkit::Cluster;

const CASES: usize = 60;

/// Specs of pods with few names, so that they collide, and without fields that the API server defaults.
fn specs() -> impl Strategy<Value = Value> {
    let value = || select(vec!["1", "2", "3"]);
    let env = btree_map(select(vec!["X", "Y", "Z"]), value(), 0..3);
    let ports = btree_map(select(vec![80_u16, 443, 8080]), select(vec!["TCP", "UDP"]), 0..3);
    let volume = prop_oneof![
        value().prop_map(|name| json!({ "configMap": { "name": name, "defaultMode": 420 } })),
        Just(json!({ "emptyDir": {} })),
    ];
    let container = (value(), env, ports, vec(value(), 0..3));
    let containers = btree_map(select(vec!["a", "b", "c", "d"]), container, 1..4);
    let containers = containers.prop_map(Vec::from_iter).prop_shuffle();
    (containers, btree_map(select(vec!["v", "w"]), volume, 0..3)).prop_map(|(containers, volumes)| {
        let containers: Vec<Value> = containers
            .into_iter()
            .map(|(name, (image, env, ports, args))| {
                let env: Value =
                    env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
                let ports: Value = ports
                    .iter()
                    .map(|(port, protocol)| json!({ "containerPort": port, "protocol": protocol }))
                    .collect();
                json!({ "name": name, "image": image, "env": env, "ports": ports, "args": args })
            })
            .collect();
        let volumes: Value = volumes
            .into_iter()
            .map(|(name, mut volume)| {
                volume["name"] = name.into();
                volume
            })
            .collect();
        json!({ "containers": containers, "volumes": volumes })
    })
}

fn deployment(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": spec },
        },
    })
}

fn object(value: &Value) -> Object {
    value.as_object().expect("an object").clone()
}

/// Returns the generated fields of an object; empty lists and absent ones are the same to the API server.
fn generated_fields(deployment: &Value) -> Value {
    let spec = &deployment["spec"]["template"]["spec"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let containers: Vec<Value> = list(&spec["containers"])
        .iter()
        .map(|container| {
            let [env, ports, args] = ["env", "ports", "args"].map(|field| list(&container[field]));
            json!({ "name": container["name"], "image": container["image"], "env": env, "ports": ports, "args": args })
        })
        .collect();
    json!({ "containers": containers, "volumes": list(&spec["volumes"]) })
}

#[tokio::test]
async fn patches_have_the_same_result_here_and_on_the_api_server() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("merging").await?;
    let client = cluster.client();
    let all = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let shape = Schema::builtin().shape("apps/v1", "Deployment").expect("a built-in kind");
    let mut runner = TestRunner::deterministic();
    let mut draw = || specs().new_tree(&mut runner).expect("a spec").current();
    for case in 0..CASES {
        let name = format!("case-{case}");
        let (original, others, modified) = (draw(), draw(), draw());
        // Others created the object, then the original was applied: so the live object has fields of both.
        let [original, others, modified] = [original, others, modified].map(|spec| deployment(&name, &spec));
        let joined = three_way_strategic(&Object::new(), &object(&original), &object(&others), shape)?;
        let joined = apply_strategic(object(&others), joined, shape)?;
        let post =
            Request::builder().method(Method::POST).uri(&all).header("content-type", "application/json");
        let live: Value = client.request(post.body(serde_json::to_vec(&joined)?)?).await?;

        let patch = three_way_strategic(&object(&original), &object(&modified), &object(&live), shape)?;
        let ours = Value::Object(apply_strategic(object(&live), patch.clone(), shape)?);
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(format!("{all}/{name}?dryRun=All&fieldValidation=Strict"))
            .header("content-type", "application/strategic-merge-patch+json");
        let theirs: Value = client.request(request.body(serde_json::to_vec(&patch)?)?).await?;
        assert_eq!(
            generated_fields(&ours),
            generated_fields(&theirs),
            "case {case}: {live} {}",
            Value::Object(patch)
        );
    }
    Ok(())
}
