//! JSON patches and merge patches.

use serde_json::{Value, json};

use crate::support::{JSON, JSON_PATCH, MERGE, Server, config_map, deployment, failure, version, with};

facts![
    json_patches_add_replace_remove_move_copy_and_test,
    json_patches_may_replace_what_is_absent,
    json_patches_that_do_not_fit_are_refused_whole,
    broken_json_patches_are_refused,
    merge_patches_merge_and_null_removes,
    merge_patches_replace_lists,
    broken_merge_patches_are_refused,
    an_absent_object_cannot_be_patched,
    names_cannot_be_patched,
    patches_need_their_content_type,
    a_patch_that_makes_a_wrong_type_is_invalid,
    unknown_fields_are_dropped_warned_of_or_refused,
];

async fn json_patches_add_replace_remove_move_copy_and_test(server: &Server) -> anyhow::Result<()> {
    let object = with(config_map("one"), "/data", json!({"a": "1", "b": "2", "c": "3"}));
    let object = with(object, "/metadata/annotations", json!({"example.com/note": "4"}));
    server.post(server.core("configmaps"), object).ok().await?;
    let patch = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "one"},
        {"op": "add", "path": "/data/new", "value": "5"},
        {"op": "remove", "path": "/data/b"},
        {"op": "move", "from": "/data/c", "path": "/data/moved"},
        {"op": "copy", "from": "/metadata/annotations/example.com~1note", "path": "/data/copied"},
        {"op": "remove", "path": "/metadata/annotations/example.com~1note"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.example/x", "a.example/z"]},
        {"op": "add", "path": "/metadata/finalizers/1", "value": "a.example/y"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "a.example/end"},
    ]);
    let patched = server.patch(JSON_PATCH, server.core("configmaps/one"), patch).ok().await?;
    assert_eq!(patched["data"], json!({"a": "one", "new": "5", "moved": "3", "copied": "4"}));
    let finalizers = json!(["a.example/x", "a.example/y", "a.example/z", "a.example/end"]);
    assert_eq!(patched["metadata"]["finalizers"], finalizers);
    Ok(())
}

async fn json_patches_may_replace_what_is_absent(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let patch = json!([{"op": "replace", "path": "/data/absent", "value": "2"}]);
    let patched = server.patch(JSON_PATCH, server.core("configmaps/one"), patch).ok().await?;
    assert_eq!(patched["data"], json!({"a": "1", "absent": "2"}));
    Ok(())
}

async fn json_patches_that_do_not_fit_are_refused_whole(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let message = "the server rejected our request due to an error in our request";
    let expected = failure(422, "Invalid", message, json!({}));
    for operation in [
        json!({"op": "test", "path": "/data/a", "value": "2"}),
        json!({"op": "remove", "path": "/data/absent"}),
        json!({"op": "add", "path": "/absent/x/y", "value": "2"}),
        json!({"op": "bogus", "path": "/data/a"}),
    ] {
        let patch = json!([{"op": "add", "path": "/data/b", "value": "2"}, operation]);
        let refused = server.patch(JSON_PATCH, server.core("configmaps/one"), patch).refused().await?;
        assert_eq!(refused, expected, "{operation}");
    }
    let now = server.get(server.core("configmaps/one")).ok().await?;
    assert_eq!(version(&now), version(&created));
    Ok(())
}

async fn broken_json_patches_are_refused(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let message =
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
    let refused = server.patch(JSON_PATCH, server.core("configmaps/one"), json!({})).refused().await?;
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    let call = server.patch(JSON_PATCH, server.core("configmaps/one"), Value::Null).body("{broken");
    let refused = call.refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    assert!(refused["message"].as_str().unwrap().starts_with("error decoding patch: "), "{refused}");
    Ok(())
}

async fn merge_patches_merge_and_null_removes(server: &Server) -> anyhow::Result<()> {
    let object = with(config_map("one"), "/data", json!({"a": "1", "b": "2"}));
    server.post(server.core("configmaps"), object).ok().await?;
    let patch = json!({"data": {"a": null, "absent": null, "c": "3"}, "metadata": {"labels": {"x": "y"}}});
    let patched = server.patch(MERGE, server.core("configmaps/one"), patch).ok().await?;
    assert_eq!(patched["data"], json!({"b": "2", "c": "3"}));
    assert_eq!(patched["metadata"]["labels"], json!({"x": "y"}));
    let patched = server.patch(MERGE, server.core("configmaps/one"), json!({"data": null})).ok().await?;
    assert_eq!(patched["data"], Value::Null);
    Ok(())
}

async fn merge_patches_replace_lists(server: &Server) -> anyhow::Result<()> {
    let object = with(config_map("one"), "/metadata/finalizers", json!(["a.example/x", "a.example/y"]));
    server.post(server.core("configmaps"), object).ok().await?;
    let patch = json!({"metadata": {"finalizers": ["a.example/z"]}});
    let patched = server.patch(MERGE, server.core("configmaps/one"), patch).ok().await?;
    assert_eq!(patched["metadata"]["finalizers"], json!(["a.example/z"]));
    Ok(())
}

async fn broken_merge_patches_are_refused(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let call = server.patch(MERGE, server.core("configmaps/one"), Value::Null).body("{broken");
    let refused = call.refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    assert!(refused["message"].as_str().unwrap().starts_with("error decoding patch: "), "{refused}");
    Ok(())
}

async fn an_absent_object_cannot_be_patched(server: &Server) -> anyhow::Result<()> {
    let refused =
        server.patch(MERGE, server.core("configmaps/absent"), json!({"data": {}})).refused().await?;
    let details = json!({"name": "absent", "kind": "configmaps"});
    assert_eq!(refused, failure(404, "NotFound", "configmaps \"absent\" not found", details));
    Ok(())
}

async fn names_cannot_be_patched(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let patch = json!([{"op": "replace", "path": "/metadata/name", "value": "two"}]);
    let refused = server.patch(JSON_PATCH, server.core("configmaps/one"), patch).refused().await?;
    let message = "the name of the object (two) does not match the name on the URL (one)";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    let patch = json!({"metadata": {"namespace": "other"}});
    let refused = server.patch(MERGE, server.core("configmaps/one"), patch).refused().await?;
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn patches_need_their_content_type(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let refused = server.patch(JSON, server.core("configmaps/one"), json!({})).refused().await?;
    assert_eq!(refused, failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", json!({})));
    Ok(())
}

async fn a_patch_that_makes_a_wrong_type_is_invalid(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let refused =
        server.patch(MERGE, server.core("configmaps/one"), json!({"data": {"a": 1}})).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")));
    Ok(())
}

async fn unknown_fields_are_dropped_warned_of_or_refused(server: &Server) -> anyhow::Result<()> {
    server.post(server.named("apps/v1", "deployments"), deployment("web")).ok().await?;
    let patch = |query: &str| {
        let path = server.named("apps/v1", &format!("deployments/web{query}"));
        server.patch(MERGE, path, json!({"spec": {"replicsa": 3}}))
    };
    for (query, warning) in
        [("", "299 - \"unknown field \\\"spec.replicsa\\\"\""), ("?fieldValidation=Ignore", "")]
    {
        let answer = patch(query).answer().await?;
        assert_eq!((answer.code, answer.header("warning")), (200, warning), "{query}");
        assert_eq!(answer.json()?["spec"]["replicsa"], Value::Null);
    }
    let refused = patch("?fieldValidation=Strict").refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")));
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("strict decoding error: unknown field \"spec.replicsa\""), "{message}");
    Ok(())
}
