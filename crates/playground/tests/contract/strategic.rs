//! Strategic merge patches: lists are merged by the key that their type declares.

use serde_json::{Value, json};

use crate::support::{STRATEGIC, Server, deployment, failure};

facts![
    items_are_merged_by_their_key,
    items_are_deleted_by_directive,
    lists_are_replaced_by_directive,
    maps_are_replaced_by_directive,
    primitive_lists_are_sets,
    elements_are_ordered_by_directive,
    keys_are_retained_by_directive,
    lists_without_a_key_are_replaced,
    items_need_their_key,
    directives_must_be_known,
];

async fn deployed(server: &Server) -> anyhow::Result<()> {
    server.post(server.named("apps/v1", "deployments"), deployment("web")).ok().await?;
    Ok(())
}

async fn patch(server: &Server, patch: Value) -> anyhow::Result<Value> {
    server.patch(STRATEGIC, server.named("apps/v1", "deployments/web"), patch).ok().await
}

async fn patch_pod(server: &Server, spec: Value) -> anyhow::Result<Value> {
    let patched = patch(server, json!({"spec": {"template": {"spec": spec}}})).await?;
    Ok(patched["spec"]["template"]["spec"].clone())
}

fn names(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

async fn items_are_merged_by_their_key(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    let spec = json!({"containers": [
        {"name": "side", "image": "side:1"},
        {"name": "main", "env": [{"name": "B", "value": "2"}]},
    ]});
    let patched = patch_pod(server, spec).await?;
    assert_eq!(names(&patched["containers"]), ["side", "main"], "in the order of the patch");
    let main = &patched["containers"][1];
    assert_eq!(main["image"], "main:1");
    assert_eq!(main["env"], json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]));
    let patched = patch_pod(server, json!({"containers": [{"name": "main", "image": "main:2"}]})).await?;
    assert_eq!(names(&patched["containers"]), ["side", "main"]);
    assert_eq!(patched["containers"][1]["image"], "main:2");
    Ok(())
}

async fn items_are_deleted_by_directive(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    patch_pod(server, json!({"containers": [{"name": "side", "image": "side:1"}]})).await?;
    let spec = json!({"containers": [
        {"name": "side", "$patch": "delete"},
        {"name": "main", "env": [{"name": "A", "$patch": "delete"}, {"name": "B", "value": "2"}]},
    ]});
    let patched = patch_pod(server, spec).await?;
    assert_eq!(names(&patched["containers"]), ["main"]);
    assert_eq!(names(&patched["containers"][0]["env"]), ["B"]);
    Ok(())
}

async fn lists_are_replaced_by_directive(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    let spec = json!({"containers": [{"$patch": "replace"}, {"name": "only", "image": "only:1"}]});
    assert_eq!(names(&patch_pod(server, spec).await?["containers"]), ["only"]);
    Ok(())
}

async fn maps_are_replaced_by_directive(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    patch(server, json!({"metadata": {"annotations": {"a": "1", "b": "2"}}})).await?;
    let replacement = json!({"metadata": {"annotations": {"$patch": "replace", "c": "3"}}});
    let patched = patch(server, replacement).await?;
    assert_eq!(patched["metadata"]["annotations"], json!({"c": "3"}));
    Ok(())
}

async fn primitive_lists_are_sets(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    patch(server, json!({"metadata": {"finalizers": ["a.example/x", "a.example/y"]}})).await?;
    let patched = patch(server, json!({"metadata": {"finalizers": ["a.example/z", "a.example/y"]}})).await?;
    let mut finalizers: Vec<&str> =
        patched["metadata"]["finalizers"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    finalizers.sort_unstable();
    assert_eq!(finalizers, ["a.example/x", "a.example/y", "a.example/z"]);
    let removal =
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.example/x", "a.example/z"]}});
    assert_eq!(patch(server, removal).await?["metadata"]["finalizers"], json!(["a.example/y"]));
    Ok(())
}

async fn elements_are_ordered_by_directive(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    patch_pod(server, json!({"containers": [{"name": "side", "image": "side:1"}]})).await?;
    let spec = json!({
        "$setElementOrder/containers": [{"name": "main"}, {"name": "third"}, {"name": "side"}],
        "containers": [{"name": "third", "image": "third:1"}],
    });
    let patched = patch_pod(server, spec).await?;
    assert_eq!(names(&patched["containers"]), ["main", "third", "side"]);
    Ok(())
}

async fn keys_are_retained_by_directive(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    let recreate = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(patch(server, recreate).await?["spec"]["strategy"], json!({"type": "Recreate"}));
    Ok(())
}

async fn lists_without_a_key_are_replaced(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    patch_pod(server, json!({"containers": [{"name": "main", "args": ["one", "two"]}]})).await?;
    let patched = patch_pod(server, json!({"containers": [{"name": "main", "args": ["three"]}]})).await?;
    assert_eq!(patched["containers"][0]["args"], json!(["three"]));
    Ok(())
}

async fn items_need_their_key(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    let body = json!({"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}});
    let refused = server.patch(STRATEGIC, server.named("apps/v1", "deployments/web"), body).refused().await?;
    let message = "map: map[image:x] does not contain declared merge key: name";
    assert_eq!(refused, failure(500, "", message, Value::Null));
    Ok(())
}

async fn directives_must_be_known(server: &Server) -> anyhow::Result<()> {
    deployed(server).await?;
    let path = server.named("apps/v1", "deployments/web");
    let refused = server.patch(STRATEGIC, path, json!({"$patch": "bogus"})).refused().await?;
    let message = "unknown patch type: bogus in map: map[$patch:bogus]";
    assert_eq!(refused, failure(500, "", message, Value::Null));
    Ok(())
}
