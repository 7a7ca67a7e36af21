//! Custom kinds, and their definitions.

use serde_json::{Value, json};

use crate::decisions::Decisions;

pub(crate) const GROUP: &str = "parity.example.com";

/// The definitions that the custom objects need: one whose lists have types, one that takes anything.
pub(crate) fn definitions() -> [Value; 2] {
    let gadget = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "size": { "type": "integer" },
            "ratio": { "type": "number" },
            "replicas": { "type": "integer", "default": 1 },
            "note": { "type": "string", "nullable": true },
            "tags": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
            "steps": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "atomic" },
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string" },
                    "weight": { "type": "integer", "minimum": 0 },
                    "options": { "type": "object", "additionalProperties": { "type": "string" } },
                } },
            },
        } },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    } });
    let blob = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let scale = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
    });
    [definition("Gadget", "gadgets", &gadget, &scale), definition("Blob", "blobs", &blob, &json!({}))]
}

fn definition(kind: &str, plural: &str, schema: &Value, subresources: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": subresources,
            }],
        },
    })
}

pub(super) fn gadget(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "size": decisions.maybe("size", 60, |decisions| decisions.number("value", -5..1 << 40).into()),
        "ratio": decisions.maybe("ratio", 40, |decisions| decisions.one("value", &[json!(0.5), json!(1e21), json!(3), json!(-0.1)])),
        "replicas": decisions.maybe("replicas", 50, |decisions| decisions.number("count", 0..5).into()),
        "note": decisions.maybe("note", 50, |decisions| decisions.one("text", &["", "a <b>", "c"]).into()),
        "tags": decisions.maybe("tags", 60, |decisions| json!(decisions.some("tag", 0, &["a", "b", "c"]))),
        "steps": decisions.maybe("steps", 60, |decisions| json!(decisions.some("step", 0, &["one", "two", "three"]))),
        "parts": decisions.items("parts", 0, &["lid", "base", "screw"], |name, decisions| json!({
            "name": name,
            "weight": decisions.maybe("weight", 60, |decisions| decisions.number("grams", 0..900).into()),
            "options": decisions.map("options", 0, &["colour", "finish"], &["red", "matt"]),
        })),
    } })
}

pub(super) fn blob(decisions: &Decisions) -> Value {
    json!({
        "spec": decisions.maybe("spec", 90, |decisions| json!({
            "anything": decisions.map("anything", 0, &["a", "b", "c.d/e~f"], &["1", "2", ""]),
            "list": decisions.maybe("list", 60, |decisions| decisions.items("items", 0, &["x", "y"], |name, decisions| {
                json!({ "name": name, "value": decisions.one("value", &[json!(1), json!("1"), json!(1.5), json!(true), json!([]), json!({})]) })
            })),
            "deep": decisions.maybe("deep", 50, |decisions| json!({ "er": { "still": decisions.number("value", 0..3), "empty": {} } })),
        })),
        "$odd": decisions.maybe("odd", 20, |_| json!({ "key": "kept" })),
    })
}

/// A definition under test; its name, and so its kind, is that of the case and the side.
pub(super) fn custom_definition(decisions: &Decisions) -> Value {
    let version = |name: &str, storage: bool, decisions: &Decisions| {
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "description": decisions.maybe("description", 50, |decisions| decisions.one("text", &["A thing.", "Another <thing>."]).into()),
                "properties": { "spec": {
                    "type": "object",
                    "properties": properties(&decisions.within("properties")),
                    "required": decisions.maybe("required", 30, |_| json!(["size"])),
                } },
            } },
            "additionalPrinterColumns": decisions.items("columns", 0, &["Size", "Age"], |name, decisions| json!({
                "name": name,
                "type": "string",
                "jsonPath": format!(".spec.{}", name.to_lowercase()),
                "priority": decisions.maybe("priority", 40, |decisions| decisions.number("value", 0..2).into()),
            })),
        })
    };
    let mut versions = vec![version("v1", true, &decisions.within("v1"))];
    if decisions.chance("second version", 40) {
        versions.push(version("v1beta1", false, &decisions.within("v1beta1")));
    }
    json!({ "spec": {
        "scope": decisions.firm().one("scope", &["Namespaced", "Cluster"]),
        "versions": versions,
        "names": { "shortNames": decisions.some("short", 0, &["one", "two"]).iter().map(|name| format!("{name}-SIDE")).collect::<Vec<_>>() },
    } })
}

fn properties(decisions: &Decisions) -> Value {
    let mut properties = json!({ "size": { "type": "integer" } });
    for name in decisions.some("names", 0, &["colour", "list", "age"]) {
        properties[name] = match name {
            "list" => json!({ "type": "array", "items": { "type": "string" } }),
            _ => json!({ "type": "string", "enum": decisions.some(name, 1, &["a", "b", "c"]) }),
        };
    }
    properties
}
