//! Server-side apply: field ownership.

use serde_json::{Value, json};

use crate::support::{APPLY, Cause, MERGE, Server, failure, invalid, plain, version};

facts![
    applying_creates,
    applying_again_changes_nothing,
    appliers_own_what_they_apply,
    anothers_field_is_a_conflict,
    all_conflicts_are_told,
    a_writer_conflicts_as_well,
    force_takes_ownership,
    the_same_value_is_shared,
    what_is_no_longer_applied_is_removed,
    what_another_owns_too_stays,
    list_items_are_owned_by_key,
    status_is_applied_apart,
    a_manager_is_required,
    force_is_for_apply_only,
    the_name_must_be_that_of_the_path,
    a_stale_version_is_a_conflict,
    unknown_fields_are_refused,
    broken_applies_are_refused,
];

fn data(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data})
}

async fn apply(server: &Server, manager: &str, body: Value) -> anyhow::Result<Value> {
    server.patch(APPLY, server.core(&format!("configmaps/one?fieldManager={manager}")), body).ok().await
}

async fn refused(server: &Server, query: &str, body: Value) -> anyhow::Result<Value> {
    server.patch(APPLY, server.core(&format!("configmaps/one?{query}")), body).refused().await
}

/// Fields that a manager owns.
fn owned<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == manager);
    entry.map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

async fn applying_creates(server: &Server) -> anyhow::Result<()> {
    let path = server.core("configmaps/one?fieldManager=me");
    let answer = server.patch(APPLY, path, data(json!({"a": "1"}))).answer().await?;
    assert_eq!(answer.code, 201);
    assert_eq!(plain(&answer.json()?), data(json!({"a": "1"})));
    Ok(())
}

async fn applying_again_changes_nothing(server: &Server) -> anyhow::Result<()> {
    let created = apply(server, "me", data(json!({"a": "1"}))).await?;
    let path = server.core("configmaps/one?fieldManager=me");
    let answer = server.patch(APPLY, path, data(json!({"a": "1"}))).answer().await?;
    assert_eq!(answer.code, 200);
    assert_eq!(version(&answer.json()?), version(&created));
    Ok(())
}

async fn appliers_own_what_they_apply(server: &Server) -> anyhow::Result<()> {
    let mut created = apply(server, "me", data(json!({"a": "1", "b": "2"}))).await?;
    let entry = created["metadata"]["managedFields"][0].as_object_mut().unwrap();
    assert!(entry.remove("time").is_some_and(|time| time.is_string()));
    let expected = json!([{
        "manager": "me", "operation": "Apply", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}},
    }]);
    assert_eq!(created["metadata"]["managedFields"], expected);
    Ok(())
}

async fn anothers_field_is_a_conflict(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1", "b": "1"}))).await?;
    let refused = refused(server, "fieldManager=two", data(json!({"a": "2"}))).await?;
    let details = json!({"causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.a"},
    ]});
    let message = "Apply failed with 1 conflict: conflict with \"one\": .data.a";
    assert_eq!(refused, failure(409, "Conflict", message, details));
    Ok(())
}

async fn all_conflicts_are_told(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1", "b": "1"}))).await?;
    let refused = refused(server, "fieldManager=two", data(json!({"a": "2", "b": "2"}))).await?;
    let details = json!({"causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.b"},
    ]});
    let message = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.a\n- .data.b";
    assert_eq!(refused, failure(409, "Conflict", message, details));
    Ok(())
}

async fn a_writer_conflicts_as_well(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1"}))).await?;
    let path = server.core("configmaps/one?fieldManager=writer");
    server.patch(MERGE, path, json!({"data": {"w": "1"}})).ok().await?;
    let refused = refused(server, "fieldManager=one", data(json!({"a": "1", "w": "2"}))).await?;
    let cause = "conflict with \"writer\" using v1";
    let details =
        json!({"causes": [{"reason": "FieldManagerConflict", "message": cause, "field": ".data.w"}]});
    let message = format!("Apply failed with 1 conflict: {cause}: .data.w");
    assert_eq!(refused, failure(409, "Conflict", &message, details));
    Ok(())
}

async fn force_takes_ownership(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1", "b": "1"}))).await?;
    let forced = apply(server, "two&force=true", data(json!({"a": "2"}))).await?;
    assert_eq!(forced["data"], json!({"a": "2", "b": "1"}));
    assert_eq!(owned(&forced, "one"), &json!({"f:data": {"f:b": {}}}));
    assert_eq!(owned(&forced, "two"), &json!({"f:data": {"f:a": {}}}));
    Ok(())
}

async fn the_same_value_is_shared(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1"}))).await?;
    let shared = apply(server, "two", data(json!({"a": "1"}))).await?;
    assert_eq!(owned(&shared, "one"), &json!({"f:data": {"f:a": {}}}));
    assert_eq!(owned(&shared, "two"), &json!({"f:data": {"f:a": {}}}));
    Ok(())
}

async fn what_is_no_longer_applied_is_removed(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1", "b": "1"}))).await?;
    let path = server.core("configmaps/one?fieldManager=writer");
    server.patch(MERGE, path, json!({"data": {"w": "1"}})).ok().await?;
    let applied = apply(server, "one", data(json!({"a": "1"}))).await?;
    assert_eq!(applied["data"], json!({"a": "1", "w": "1"}), "what others wrote stays");
    Ok(())
}

async fn what_another_owns_too_stays(server: &Server) -> anyhow::Result<()> {
    apply(server, "one", data(json!({"a": "1"}))).await?;
    apply(server, "two", data(json!({"a": "1"}))).await?;
    let applied = apply(server, "one", data(json!({}))).await?;
    assert_eq!(applied["data"], json!({"a": "1"}));
    let applied = apply(server, "two", data(json!({}))).await?;
    assert_eq!(applied["data"], Value::Null);
    Ok(())
}

async fn list_items_are_owned_by_key(server: &Server) -> anyhow::Result<()> {
    let path = |manager: &str| server.named("apps/v1", &format!("deployments/web?fieldManager={manager}"));
    let containers = |containers: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": containers}}},
        })
    };
    let mut whole =
        containers(json!([{"name": "main", "image": "main:1", "env": [{"name": "A", "value": "1"}]}]));
    whole["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    whole["spec"]["template"]["metadata"] = json!({"labels": {"app": "web"}});
    server.patch(APPLY, path("one"), whole.clone()).ok().await?;

    let other_image = containers(json!([{"name": "main", "image": "main:2"}]));
    let refused = server.patch(APPLY, path("two"), other_image).refused().await?;
    assert_eq!(
        refused["message"],
        "Apply failed with 1 conflict: conflict with \"one\": .spec.template.spec.containers[name=\"main\"].image"
    );

    let side = containers(json!([{"name": "side", "image": "side:1"}]));
    let applied = server.patch(APPLY, path("two"), side).ok().await?;
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&applied), ["main", "side"]);
    let key = json!({".": {}, "f:image": {}, "f:name": {}});
    let fields =
        json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"side\"}": key}}}}});
    assert_eq!(owned(&applied, "two"), &fields);

    whole["spec"]["template"]["spec"]["containers"] = json!([{"name": "main", "image": "main:3"}]);
    let applied = server.patch(APPLY, path("one"), whole).ok().await?;
    assert_eq!(names(&applied), ["main", "side"]);
    let main = &applied["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&main["image"], &main["env"]), (&json!("main:3"), &Value::Null));
    let applied = server.patch(APPLY, path("two"), containers(json!([]))).ok().await?;
    assert_eq!(names(&applied), ["main"]);
    Ok(())
}

async fn status_is_applied_apart(server: &Server) -> anyhow::Result<()> {
    let path = server.named("apps/v1", "deployments");
    server.post(path.clone(), crate::support::deployment("web")).ok().await?;
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 3}});
    let applied = server.patch(APPLY, format!("{path}/web/status?fieldManager=me"), body).ok().await?;
    assert_eq!(applied["status"]["replicas"], 3);
    let entries = applied["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["manager"] == "me").unwrap();
    assert_eq!(entry["subresource"], "status");
    assert_eq!(entry["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
    Ok(())
}

async fn a_manager_is_required(server: &Server) -> anyhow::Result<()> {
    let refused = refused(server, "", data(json!({}))).await?;
    let cause = Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
    assert_eq!(refused, invalid("PatchOptions.meta.k8s.io", "", cause));
    Ok(())
}

async fn force_is_for_apply_only(server: &Server) -> anyhow::Result<()> {
    apply(server, "me", data(json!({}))).await?;
    let path = server.core("configmaps/one?force=true");
    let refused = server.patch(MERGE, path, json!({"data": {"a": "1"}})).refused().await?;
    let cause = Cause("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch");
    assert_eq!(refused, invalid("PatchOptions.meta.k8s.io", "", cause));
    Ok(())
}

async fn the_name_must_be_that_of_the_path(server: &Server) -> anyhow::Result<()> {
    let path = server.core("configmaps/two?fieldManager=me");
    let refused = server.patch(APPLY, path, data(json!({}))).refused().await?;
    let message = "the name of the object (one) does not match the name on the URL (two)";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn a_stale_version_is_a_conflict(server: &Server) -> anyhow::Result<()> {
    apply(server, "me", data(json!({"a": "1"}))).await?;
    let mut body = data(json!({"a": "2"}));
    body["metadata"]["resourceVersion"] = "1".into();
    let refused = refused(server, "fieldManager=me", body).await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(409), &json!("Conflict")));
    Ok(())
}

async fn unknown_fields_are_refused(server: &Server) -> anyhow::Result<()> {
    let mut body = data(json!({}));
    body["bogus"] = 1.into();
    let message = "failed to create typed patch object (/one; /v1, Kind=ConfigMap): .bogus: field not declared in schema";
    assert_eq!(refused(server, "fieldManager=me", body).await?, failure(500, "", message, Value::Null));
    Ok(())
}

async fn broken_applies_are_refused(server: &Server) -> anyhow::Result<()> {
    let mut managed = data(json!({}));
    managed["metadata"]["managedFields"] = json!([{
        "manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {},
    }]);
    let complaint = refused(server, "fieldManager=me", managed).await?;
    assert_eq!(complaint, failure(400, "BadRequest", "metadata.managedFields must be nil", Value::Null));

    let complaint = refused(server, "fieldManager=me", json!({"metadata": {"name": "one"}})).await?;
    assert_eq!(complaint, failure(400, "BadRequest", "invalid object type: /, Kind=", Value::Null));

    let call = server.patch(APPLY, server.core("configmaps/one?fieldManager=me"), Value::Null).body("{{");
    let complaint = call.refused().await?;
    assert_eq!((&complaint["code"], &complaint["reason"]), (&json!(400), &json!("BadRequest")));
    assert!(complaint["message"].as_str().unwrap().starts_with("error decoding YAML: "), "{complaint}");
    Ok(())
}
