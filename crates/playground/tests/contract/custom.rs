//! Custom resources: a definition adds a kind, and its deletion removes the kind with its objects.

mod definition;

use serde_json::{Value, json};

use crate::support::{
    APPLY, Cause, MERGE, STRATEGIC, Server, failure, invalid, kinds_and_names, names, version, with,
};
use definition::{Widgets, define};

facts![
    a_definition_is_established_and_discovered,
    custom_objects_live_like_others,
    unknown_fields_are_pruned_and_defaults_filled_in,
    schemas_are_enforced,
    kind_and_version_are_required,
    status_and_scale_are_subresources,
    versions_show_the_same_objects,
    versions_that_are_not_served_are_absent,
    custom_objects_are_applied,
    tables_have_the_columns_of_the_definition,
    strategic_patches_are_not_understood,
    an_update_needs_a_version,
    a_definition_takes_its_objects_with_it,
    definitions_are_checked,
];

async fn a_definition_is_established_and_discovered(server: &Server) -> anyhow::Result<()> {
    let Widgets { group, .. } = define(server).await?;
    let found = server.get(format!("/apis/{group}")).ok().await?;
    assert_eq!(found["preferredVersion"]["version"], "v1");
    let versions = found["versions"].as_array().unwrap();
    let versions: Vec<&str> = versions.iter().map(|version| version["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["v1", "v1alpha1"]);

    let list = server.get(format!("/apis/{group}/v1")).ok().await?;
    let resources = list["resources"].as_array().unwrap();
    let widgets = &resources[0];
    for (field, expected) in [
        ("name", json!("widgets")),
        ("singularName", json!("widget")),
        ("namespaced", json!(true)),
        ("kind", json!("Widget")),
        ("shortNames", json!(["wd"])),
        ("categories", json!(["all"])),
        ("verbs", json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"])),
    ] {
        assert_eq!(widgets[field], expected, "{field}");
    }
    let names: Vec<&str> = resources.iter().map(|resource| resource["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);

    let definition = server.get(format!("{}/widgets.{group}", definition::PATH)).ok().await?;
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    for kind in ["NamesAccepted", "Established"] {
        assert!(
            conditions.iter().any(|c| c["type"] == kind && c["status"] == "True"),
            "{kind}: {conditions:?}"
        );
    }
    assert_eq!(definition["status"]["acceptedNames"]["plural"], "widgets");
    assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
    Ok(())
}

async fn custom_objects_live_like_others(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let mut watch = server.watch(&widgets.path, "").await?;
    let created = server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    assert_eq!((&created["metadata"]["generation"], &created["status"]), (&json!(1), &Value::Null));
    let list = server.get(widgets.path.clone()).ok().await?;
    assert_eq!((&list["kind"], names(&list)), (&json!("WidgetList"), vec!["one"]));
    assert_eq!(list["items"][0], created, "items of custom resources tell their kind");
    server.patch(MERGE, widgets.named("one"), json!({"spec": {"size": 4}})).ok().await?;
    server.delete(widgets.named("one")).ok().await?;
    assert_eq!(kinds_and_names(&watch.take(3).await?), ["ADDED one", "MODIFIED one", "DELETED one"]);
    let refused = server.get(widgets.named("one")).refused().await?;
    let message = format!("widgets.{} \"one\" not found", widgets.group);
    let details = json!({"name": "one", "group": widgets.group, "kind": "widgets"});
    assert_eq!(refused, failure(404, "NotFound", &message, details));
    Ok(())
}

async fn unknown_fields_are_pruned_and_defaults_filled_in(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let object = with(widgets.object("one"), "/spec/bogus", 1);
    let created = server.post(widgets.path, object).ok().await?;
    assert_eq!(created["spec"], json!({"size": 3, "replicas": 2, "color": "blue"}));
    Ok(())
}

async fn schemas_are_enforced(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let object = with(widgets.object("one"), "/spec/size", "big");
    let refused = server.post(widgets.path, object).refused().await?;
    let cause = Cause(
        "FieldValueTypeInvalid",
        "spec.size",
        "Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
    );
    assert_eq!(refused, invalid(&format!("Widget.{}", widgets.group), "one", cause));
    Ok(())
}

async fn kind_and_version_are_required(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let refused = server.post(widgets.path.clone(), json!({"metadata": {"name": "x"}})).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    assert!(refused["message"].as_str().unwrap().contains("Object 'Kind' is missing in"), "{refused}");

    let wrong = with(widgets.object("x"), "/apiVersion", format!("{}/v9", widgets.group));
    let refused = server.post(widgets.path, wrong).refused().await?;
    let message = format!(
        "the API version in the data ({0}/v9) does not match the expected API version ({0}/v1)",
        widgets.group
    );
    assert_eq!(refused, failure(400, "BadRequest", &message, Value::Null));
    Ok(())
}

async fn status_and_scale_are_subresources(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let object = with(widgets.object("one"), "/status/replicas", 9);
    let created = server.post(widgets.path.clone(), object).ok().await?;
    assert_eq!(created["status"], Value::Null);
    let status = json!({"spec": {"size": 99}, "status": {"replicas": 2, "selector": "a=b"}});
    let patched = server.patch(MERGE, widgets.named("one/status"), status).ok().await?;
    assert_eq!((&patched["spec"]["size"], &patched["status"]["replicas"]), (&json!(3), &json!(2)));
    assert_eq!(patched["metadata"]["generation"], 1);
    let main = json!({"spec": {"size": 4}, "status": {"replicas": 7}});
    let patched = server.patch(MERGE, widgets.named("one"), main).ok().await?;
    assert_eq!((&patched["spec"]["size"], &patched["status"]["replicas"]), (&json!(4), &json!(2)));
    assert_eq!(patched["metadata"]["generation"], 2);

    let scaled =
        server.patch(MERGE, widgets.named("one/scale"), json!({"spec": {"replicas": 6}})).ok().await?;
    assert_eq!((&scaled["kind"], &scaled["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    assert_eq!(scaled["spec"], json!({"replicas": 6}));
    assert_eq!(scaled["status"], json!({"replicas": 2, "selector": "a=b"}));
    assert_eq!(server.get(widgets.named("one")).ok().await?["spec"]["replicas"], 6);
    Ok(())
}

async fn versions_show_the_same_objects(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let created = server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    let other = widgets.path.replace("/v1/", "/v1alpha1/");
    let seen = server.get(format!("{other}/one")).ok().await?;
    assert_eq!(seen["apiVersion"], format!("{}/v1alpha1", widgets.group));
    assert_eq!(seen["spec"], created["spec"]);
    assert_eq!(version(&seen), version(&created));
    let list = server.get(other).ok().await?;
    assert_eq!(list["items"][0]["apiVersion"], seen["apiVersion"]);
    Ok(())
}

async fn versions_that_are_not_served_are_absent(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let answer = server.get(widgets.path.replace("/v1/", "/v0/")).answer().await?;
    assert_eq!((answer.code, answer.text().as_str()), (404, "404 page not found\n"));
    Ok(())
}

async fn custom_objects_are_applied(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    let apply = |manager: &str, size: u32| {
        let object = with(widgets.object("one"), "/spec", json!({"size": size}));
        server.patch(APPLY, widgets.named(&format!("one?fieldManager={manager}")), object)
    };
    assert_eq!(apply("one", 1).answer().await?.code, 201);
    let refused = apply("two", 2).refused().await?;
    assert_eq!(refused["message"], "Apply failed with 1 conflict: conflict with \"one\": .spec.size");
    assert_eq!(apply("one", 2).ok().await?["spec"]["size"], 2);
    Ok(())
}

async fn tables_have_the_columns_of_the_definition(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    let call = server.get(widgets.path).accept("application/json;as=Table;g=meta.k8s.io;v=v1");
    let table = call.ok().await?;
    let columns = table["columnDefinitions"].as_array().unwrap();
    let columns: Vec<(&str, &str)> = columns
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["type"].as_str().unwrap()))
        .collect();
    assert_eq!(columns, [("Name", "string"), ("Size", "integer")]);
    assert_eq!(table["rows"][0]["cells"], json!(["one", 3]));
    Ok(())
}

async fn strategic_patches_are_not_understood(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    let refused =
        server.patch(STRATEGIC, widgets.named("one"), json!({"spec": {"size": 5}})).refused().await?;
    let message = "the body of the request was in an unknown format - accepted media types include: \
                   application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    assert_eq!(refused, failure(415, "UnsupportedMediaType", message, Value::Null));
    Ok(())
}

async fn an_update_needs_a_version(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    let refused = server.put(widgets.named("one"), widgets.object("one")).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "metadata.resourceVersion",
        "Invalid value: 0: must be specified for an update",
    );
    assert_eq!(refused, invalid(&format!("widgets.{}", widgets.group), "one", cause));
    Ok(())
}

async fn a_definition_takes_its_objects_with_it(server: &Server) -> anyhow::Result<()> {
    let widgets = define(server).await?;
    server.post(widgets.path.clone(), widgets.object("one")).ok().await?;
    let mut watch = server.watch(&widgets.path, "").await?;
    assert_eq!(kinds_and_names(&watch.take(1).await?), ["ADDED one"]);
    server.delete(format!("{}/widgets.{}", definition::PATH, widgets.group)).ok().await?;
    assert_eq!(kinds_and_names(&watch.rest().await?), ["DELETED one"], "and then the watch ends");
    server
        .until(
            "the resource is gone",
            || server.get(widgets.path.clone()).answer(),
            |answer| answer.code == 404 && answer.text() == "404 page not found\n",
        )
        .await;
    server
        .until(
            "the definition is gone",
            || server.get(format!("{}/widgets.{}", definition::PATH, widgets.group)).answer(),
            |answer| answer.code == 404,
        )
        .await;
    Ok(())
}

async fn definitions_are_checked(server: &Server) -> anyhow::Result<()> {
    let group = format!("{}.example.com", server.namespace());
    let misnamed = with(definition::definition(&group), "/metadata/name", "wrong");
    let refused = server.post(definition::PATH, misnamed).refused().await?;
    let cause = Cause(
        "FieldValueInvalid",
        "metadata.name",
        "Invalid value: \"wrong\": must be spec.names.plural+\".\"+spec.group",
    );
    assert_eq!(refused, invalid("CustomResourceDefinition.apiextensions.k8s.io", "wrong", cause));
    Ok(())
}
