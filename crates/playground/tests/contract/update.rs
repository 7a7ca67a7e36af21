//! Updates with the resource version as precondition.

use serde_json::{Value, json};

use crate::support::{Cause, MERGE, Server, config_map, deployment, failure, invalid, plain, version, with};

facts![
    a_put_replaces_everything,
    the_newest_version_is_accepted,
    a_stale_version_is_a_conflict,
    without_a_version_the_last_writer_wins,
    what_changes_nothing_makes_no_version,
    the_system_fields_stay,
    an_absent_object_is_not_made,
    the_name_must_be_that_of_the_path,
    another_uid_is_a_conflict,
    broken_versions_are_refused,
    immutable_fields_stay,
];

async fn a_put_replaces_everything(server: &Server) -> anyhow::Result<()> {
    let labelled = with(config_map("one"), "/metadata/labels/x", "y");
    server.post(server.core("configmaps"), labelled).ok().await?;
    let body = with(config_map("one"), "/data", json!({"b": "2"}));
    let answer = server.put(server.core("configmaps/one"), body.clone()).answer().await?;
    assert_eq!(answer.code, 200);
    assert_eq!(plain(&answer.json()?), body, "without the label");
    Ok(())
}

async fn the_newest_version_is_accepted(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let body = with(created.clone(), "/data/a", "2");
    let changed = server.put(server.core("configmaps/one"), body).ok().await?;
    assert_eq!(changed["data"], json!({"a": "2"}));
    assert_ne!(version(&changed), version(&created));
    Ok(())
}

fn stale() -> Value {
    let message = "Operation cannot be fulfilled on configmaps \"one\": the object has been modified; please apply \
                   your changes to the latest version and try again";
    failure(409, "Conflict", message, json!({"name": "one", "kind": "configmaps"}))
}

async fn a_stale_version_is_a_conflict(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let path = server.core("configmaps/one");
    server.put(path.clone(), with(created.clone(), "/data/a", "2")).ok().await?;
    assert_eq!(server.put(path.clone(), with(created.clone(), "/data/a", "3")).refused().await?, stale());
    let patch = json!({"metadata": {"resourceVersion": version(&created)}, "data": {"a": "3"}});
    assert_eq!(server.patch(MERGE, path, patch).refused().await?, stale());
    Ok(())
}

async fn without_a_version_the_last_writer_wins(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let body = with(config_map("one"), "/data/a", "2");
    let changed = server.put(server.core("configmaps/one"), body).ok().await?;
    assert_eq!(changed["data"], json!({"a": "2"}));
    Ok(())
}

async fn what_changes_nothing_makes_no_version(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let same = server.put(server.core("configmaps/one"), config_map("one")).ok().await?;
    assert_eq!(version(&same), version(&created));
    let same = server.patch(MERGE, server.core("configmaps/one"), json!({"data": {"a": "1"}})).ok().await?;
    assert_eq!(version(&same), version(&created));
    Ok(())
}

async fn the_system_fields_stay(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let changed =
        server.put(server.core("configmaps/one"), with(config_map("one"), "/data/a", "2")).ok().await?;
    for field in ["uid", "creationTimestamp", "namespace"] {
        assert_eq!(changed["metadata"][field], created["metadata"][field], "{field}");
    }
    Ok(())
}

async fn an_absent_object_is_not_made(server: &Server) -> anyhow::Result<()> {
    let refused = server.put(server.core("configmaps/absent"), config_map("absent")).refused().await?;
    let details = json!({"name": "absent", "kind": "configmaps"});
    assert_eq!(refused, failure(404, "NotFound", "configmaps \"absent\" not found", details));
    Ok(())
}

async fn the_name_must_be_that_of_the_path(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let path = server.core("configmaps/one");
    let refused = server.put(path.clone(), config_map("two")).refused().await?;
    let message = "the name of the object (two) does not match the name on the URL (one)";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    let refused = server.put(path, json!({"data": {}})).refused().await?;
    let message = "the name of the object (one based on URL) was undeterminable: name must be provided";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn another_uid_is_a_conflict(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let body = with(config_map("one"), "/metadata/uid", "another");
    let refused = server.put(server.core("configmaps/one"), body).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(409), &json!("Conflict")));
    // The middle of the message is the key in etcd.
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("Operation cannot be fulfilled on configmaps \"one\": "), "{message}");
    assert!(message.contains("UID in precondition: another, UID in object meta: "), "{message}");
    Ok(())
}

async fn broken_versions_are_refused(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let body = with(config_map("one"), "/metadata/resourceVersion", "abc");
    let refused = server.put(server.core("configmaps/one"), body).refused().await?;
    let message = "strconv.ParseUint: parsing \"abc\": invalid syntax";
    assert_eq!(refused, failure(500, "", message, Value::Null));
    Ok(())
}

async fn immutable_fields_stay(server: &Server) -> anyhow::Result<()> {
    server.post(server.named("apps/v1", "deployments"), deployment("web")).ok().await?;
    let relabelled = json!({"spec": {
        "selector": {"matchLabels": {"app": "z"}}, "template": {"metadata": {"labels": {"app": "z"}}},
    }});
    let refused =
        server.patch(MERGE, server.named("apps/v1", "deployments/web"), relabelled).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "spec.selector",
        "Invalid value: {\"matchLabels\":{\"app\":\"z\"}}: field is immutable",
    );
    assert_eq!(refused, invalid("Deployment.apps", "web", cause));

    let frozen = with(config_map("frozen"), "/immutable", true);
    server.post(server.core("configmaps"), frozen).ok().await?;
    let refused =
        server.patch(MERGE, server.core("configmaps/frozen"), json!({"data": {"a": "2"}})).refused().await?;
    let cause = Cause("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set");
    assert_eq!(refused, invalid("ConfigMap", "frozen", cause));

    server.post(server.core("secrets"), json!({"metadata": {"name": "typed"}})).ok().await?;
    let refused =
        server.patch(MERGE, server.core("secrets/typed"), json!({"type": "other"})).refused().await?;
    let cause = Cause("FieldValueInvalid", "type", "Invalid value: \"other\": field is immutable");
    assert_eq!(refused, invalid("Secret", "typed", cause));
    Ok(())
}
