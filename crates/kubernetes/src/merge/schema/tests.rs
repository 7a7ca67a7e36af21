use serde_json::json;

use super::{openapi::InvalidOpenApi, *};

fn document() -> Vec<u8> {
    let refers =
        |name: &str| json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }], "default": {} });
    let kind = json!({ "group": "apps", "version": "v1", "kind": "Deployment" });
    let patch = |content: &str| {
        json!({ "get": { "ignored": [1] }, "patch": {
            "requestBody": { "content": { "application/json-patch+json": {}, content: {} } },
            "x-kubernetes-group-version-kind": kind,
        } })
    };
    let mut strategy = refers("Strategy");
    strategy["x-kubernetes-patch-strategy"] = "retainKeys".into();
    let document = json!({
        "openapi": "3.0.0",
        "paths": { "/apis/apps/v1/deployments": { "get": {} }, "/one": patch("application/strategic-merge-patch+json") },
        "components": { "schemas": {
            "Deployment": {
                "properties": { "kind": { "type": "string" }, "spec": refers("Spec"), "status": refers("Status") },
                "x-kubernetes-group-version-kind": [kind],
            },
            "Custom": {
                "properties": { "spec": refers("Spec") },
                "x-kubernetes-group-version-kind": [{ "group": "apps", "version": "v1", "kind": "Custom" }],
            },
            "Spec": { "properties": {
                "strategy": strategy,
                "self": { "$ref": "#/components/schemas/Spec" },
                "volumes": {
                    "type": "array", "items": refers("Volume"),
                    "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name",
                },
                "args": { "type": "array", "items": { "type": "string" } },
            } },
            "Status": { "properties": { "replicas": { "type": "integer" } } },
            "Strategy": { "properties": { "type": { "type": "string" } } },
            "Volume": { "properties": { "name": { "type": "string" } } },
            "Unused": { "properties": { "list": { "x-kubernetes-patch-strategy": "merge" } } },
        } },
    });
    document.to_string().into()
}

const TABLE: &str = "kind apps/v1 Deployment Deployment\n\
                     type Deployment\n  spec of Spec\n\
                     type Spec\n  self of Spec\n  strategy retainKeys\n  volumes merge retainKeys key name\n";

#[test]
fn only_strategies_of_a_document_are_kept() {
    let schema = openapi::read(&document()).unwrap();
    assert_eq!(schema.to_table(), TABLE);
    assert!(schema.shape("apps/v1", "Custom").is_none(), "it takes no strategic merge patches");
}

#[test]
fn a_table_reads_as_it_was_written() {
    assert_eq!(table::read(TABLE), Some(openapi::read(&document()).unwrap()));
    assert_eq!(table::read(Schema::builtin().to_table().as_str()).as_ref(), Some(Schema::builtin()));
    for wrong in ["nonsense", "  field merge", "kind v1 Pod", "type Pod\n  spec of", "type Pod\n  spec shake"]
    {
        assert_eq!(table::read(wrong), None, "{wrong}");
    }
}

#[test]
fn fields_lead_to_their_shapes() {
    let shape = Schema::builtin().shape("apps/v1", "Deployment").unwrap();
    let (spec, _) = shape.field("spec");
    let (_, strategy) = spec.field("strategy");
    assert_eq!(strategy, MergeRule { retain_keys: true, ..MergeRule::default() });
    let (pod, _) = spec.field("template").0.field("spec");
    let (container, rule) = pod.field("containers");
    assert_eq!(
        rule,
        MergeRule { strategy: Strategy::Merge, merge_key: Some("name"), ..MergeRule::default() }
    );
    assert_eq!(container.field("ports").1.merge_key, Some("containerPort"));
    assert_eq!(container.field("args").1, MergeRule::default());
    assert!(Schema::builtin().shape("example.com/v1", "Deployment").is_none());
}

#[test]
fn invalid_documents_are_refused() {
    assert!(matches!(openapi::read(b"<html>"), Err(InvalidOpenApi::Malformed(_))));
    let strange = String::from_utf8(document()).unwrap().replace("merge,retainKeys", "merge,shake");
    let error = openapi::read(strange.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error,
        "volumes of Spec has the patch strategy \"shake\", expected merge, replace or retainKeys"
    );
}
