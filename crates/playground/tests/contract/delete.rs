//! Deletion: preconditions, finalizers, propagation, collections.

use serde_json::{Value, json};

use crate::support::{Cause, MERGE, Server, config_map, failure, invalid, names, version, with};

facts![
    the_answer_is_a_success,
    an_absent_object_cannot_be_deleted,
    preconditions_are_checked,
    finalizers_hold_an_object_back,
    no_finalizer_is_added_while_deleting,
    finalizers_have_rules,
    deleting_in_the_foreground_waits_for_a_finalizer,
    options_are_checked,
    a_collection_is_deleted_by_selector,
    namespaces_are_not_deleted_all_at_once,
    a_terminating_namespace_takes_nothing_new,
];

async fn the_answer_is_a_success(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let answer = server.delete(server.core("configmaps/one")).answer().await?;
    assert_eq!(answer.code, 200);
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "one", "kind": "configmaps", "uid": created["metadata"]["uid"]},
    });
    assert_eq!(answer.json()?, expected);
    assert_eq!(server.get(server.core("configmaps/one")).refused().await?["code"], 404);
    Ok(())
}

async fn an_absent_object_cannot_be_deleted(server: &Server) -> anyhow::Result<()> {
    let refused = server.delete(server.core("configmaps/absent")).refused().await?;
    let details = json!({"name": "absent", "kind": "configmaps"});
    assert_eq!(refused, failure(404, "NotFound", "configmaps \"absent\" not found", details));
    Ok(())
}

async fn preconditions_are_checked(server: &Server) -> anyhow::Result<()> {
    let created = server.config_map("one").await?;
    let uid = created["metadata"]["uid"].as_str().unwrap();
    let delete = |preconditions: Value| {
        server.delete(server.core("configmaps/one")).json(&json!({"preconditions": preconditions}))
    };
    let conflict = |why: &str| {
        let message = format!("Operation cannot be fulfilled on ConfigMap \"one\": {why}");
        failure(409, "Conflict", &message, json!({"name": "one", "kind": "ConfigMap"}))
    };
    let why = format!(
        "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({}). The object \
         might have been modified",
        version(&created)
    );
    assert_eq!(delete(json!({"resourceVersion": "1"})).refused().await?, conflict(&why));
    let why = format!(
        "the UID in the precondition (another) does not match the UID in record ({uid}). The object might have been \
         deleted and then recreated"
    );
    assert_eq!(delete(json!({"uid": "another"})).refused().await?, conflict(&why));
    delete(json!({"uid": uid, "resourceVersion": version(&created)})).ok().await?;
    Ok(())
}

async fn finalizers_hold_an_object_back(server: &Server) -> anyhow::Result<()> {
    let held = with(config_map("held"), "/metadata/finalizers", json!(["a.example/x"]));
    server.post(server.core("configmaps"), held).ok().await?;
    let path = server.core("configmaps/held");
    let deleting = server.delete(path.clone()).ok().await?;
    assert_eq!(deleting["kind"], "ConfigMap");
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(server.get(path.clone()).ok().await?, deleting);
    assert_eq!(server.delete(path.clone()).ok().await?, deleting, "deleting again changes nothing");

    let freed = server.patch(MERGE, path.clone(), json!({"metadata": {"finalizers": null}})).ok().await?;
    assert!(freed["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(freed["metadata"]["finalizers"], Value::Null);
    assert_eq!(server.get(path).refused().await?["code"], 404);
    Ok(())
}

async fn no_finalizer_is_added_while_deleting(server: &Server) -> anyhow::Result<()> {
    let held = with(config_map("held"), "/metadata/finalizers", json!(["a.example/x"]));
    server.post(server.core("configmaps"), held).ok().await?;
    server.delete(server.core("configmaps/held")).ok().await?;
    let patch = json!({"metadata": {"finalizers": ["a.example/x", "a.example/y"]}});
    let refused = server.patch(MERGE, server.core("configmaps/held"), patch).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")));
    assert_eq!(
        refused["message"],
        "ConfigMap \"held\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object \
         is being deleted, found new finalizers []string{\"a.example/y\"}"
    );
    Ok(())
}

async fn finalizers_have_rules(server: &Server) -> anyhow::Result<()> {
    let odd = with(config_map("odd"), "/metadata/finalizers", json!(["x"]));
    let refused = server.post(server.core("configmaps"), odd).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "metadata.finalizers[0]",
        "Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified",
    );
    assert_eq!(refused, invalid("ConfigMap", "odd", cause));
    Ok(())
}

async fn deleting_in_the_foreground_waits_for_a_finalizer(server: &Server) -> anyhow::Result<()> {
    for (policy, finalizer) in [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")] {
        let name = policy.to_lowercase();
        server.config_map(&name).await?;
        let path = server.core(&format!("configmaps/{name}?propagationPolicy={policy}"));
        let deleting = server.delete(path).ok().await?;
        assert_eq!(deleting["kind"], "ConfigMap", "{policy}");
        assert_eq!(deleting["metadata"]["finalizers"], json!([finalizer]));
        assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    }
    Ok(())
}

async fn options_are_checked(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    for (body, cause) in [
        (
            json!({"propagationPolicy": "Bogus"}),
            Cause(
                "FieldValueNotSupported",
                "propagationPolicy",
                "Unsupported value: \"Bogus\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
            ),
        ),
        (
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            Cause(
                "FieldValueInvalid",
                "propagationPolicy",
                "Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set",
            ),
        ),
    ] {
        let refused = server.delete(server.core("configmaps/one")).json(&body).refused().await?;
        assert_eq!(refused, invalid("DeleteOptions.meta.k8s.io", "", cause));
    }
    Ok(())
}

async fn a_collection_is_deleted_by_selector(server: &Server) -> anyhow::Result<()> {
    for (name, value) in [("c0", "yes"), ("c1", "no"), ("c2", "yes")] {
        let object = with(config_map(name), "/metadata/labels/doomed", value);
        server.post(server.core("configmaps"), object).ok().await?;
    }
    let deleted = server.delete(server.core("configmaps?labelSelector=doomed=yes")).ok().await?;
    assert_eq!(deleted["kind"], "ConfigMapList");
    assert_eq!(names(&deleted), ["c0", "c2"]);
    assert_eq!(names(&server.get(server.core("configmaps")).ok().await?), ["c1"]);
    Ok(())
}

async fn namespaces_are_not_deleted_all_at_once(server: &Server) -> anyhow::Result<()> {
    let refused = server.delete("/api/v1/namespaces").refused().await?;
    let message = "the server does not allow this method on the requested resource";
    assert_eq!(refused, failure(405, "MethodNotAllowed", message, json!({})));
    Ok(())
}

async fn a_terminating_namespace_takes_nothing_new(server: &Server) -> anyhow::Result<()> {
    // Keeps the namespace where a controller would empty it.
    let held = with(config_map("held"), "/metadata/finalizers", json!(["a.example/x"]));
    server.post(server.core("configmaps"), held).ok().await?;
    let namespace = server.namespace();
    let deleting = server.delete(format!("/api/v1/namespaces/{namespace}")).ok().await?;
    assert_eq!(deleting["status"]["phase"], "Terminating");
    assert_eq!(deleting["spec"]["finalizers"], json!(["kubernetes"]));
    let refused = server.post(server.core("configmaps"), config_map("late")).refused().await?;
    let message = format!(
        "configmaps \"late\" is forbidden: unable to create new content in namespace {namespace} because it is being \
         terminated"
    );
    let cause = json!({
        "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    let details = json!({"name": "late", "kind": "configmaps", "causes": [cause]});
    assert_eq!(refused, failure(403, "Forbidden", &message, details));
    Ok(())
}
