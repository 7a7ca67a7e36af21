//! Custom kinds, and their definitions.

use serde_json::{Value, json};

use crate::dice::Dice;

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

pub(super) fn gadget(dice: &Dice) -> Value {
    json!({ "spec": {
        "size": dice.maybe("size", 60, |dice| dice.number("value", -5..1 << 40).into()),
        "ratio": dice.maybe("ratio", 40, |dice| dice.one("value", &[json!(0.5), json!(1e21), json!(3), json!(-0.1)])),
        "replicas": dice.maybe("replicas", 50, |dice| dice.number("count", 0..5).into()),
        "note": dice.maybe("note", 50, |dice| dice.one("text", &["", "a <b>", "c"]).into()),
        "tags": dice.maybe("tags", 60, |dice| json!(dice.some("tag", 0, &["a", "b", "c"]))),
        "steps": dice.maybe("steps", 60, |dice| json!(dice.some("step", 0, &["one", "two", "three"]))),
        "parts": dice.items("parts", 0, &["lid", "base", "screw"], |name, dice| json!({
            "name": name,
            "weight": dice.maybe("weight", 60, |dice| dice.number("grams", 0..900).into()),
            "options": dice.map("options", 0, &["colour", "finish"], &["red", "matt"]),
        })),
    } })
}

pub(super) fn blob(dice: &Dice) -> Value {
    json!({
        "spec": dice.maybe("spec", 90, |dice| json!({
            "anything": dice.map("anything", 0, &["a", "b", "c.d/e~f"], &["1", "2", ""]),
            "list": dice.maybe("list", 60, |dice| dice.items("items", 0, &["x", "y"], |name, dice| {
                json!({ "name": name, "value": dice.one("value", &[json!(1), json!("1"), json!(1.5), json!(true), json!([]), json!({})]) })
            })),
            "deep": dice.maybe("deep", 50, |dice| json!({ "er": { "still": dice.number("value", 0..3), "empty": {} } })),
        })),
        "$odd": dice.maybe("odd", 20, |_| json!({ "key": "kept" })),
    })
}

/// A definition under test; its name, and so its kind, is that of the case and the side.
pub(super) fn custom_definition(dice: &Dice) -> Value {
    let version = |name: &str, storage: bool, dice: &Dice| {
        json!({
            "name": name,
            "served": true,
            "storage": storage,
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "description": dice.maybe("description", 50, |dice| dice.one("text", &["A thing.", "Another <thing>."]).into()),
                "properties": { "spec": {
                    "type": "object",
                    "properties": properties(&dice.within("properties")),
                    "required": dice.maybe("required", 30, |_| json!(["size"])),
                } },
            } },
            "additionalPrinterColumns": dice.items("columns", 0, &["Size", "Age"], |name, dice| json!({
                "name": name,
                "type": "string",
                "jsonPath": format!(".spec.{}", name.to_lowercase()),
                "priority": dice.maybe("priority", 40, |dice| dice.number("value", 0..2).into()),
            })),
        })
    };
    let mut versions = vec![version("v1", true, &dice.within("v1"))];
    if dice.chance("second version", 40) {
        versions.push(version("v1beta1", false, &dice.within("v1beta1")));
    }
    json!({ "spec": {
        "scope": dice.firm().one("scope", &["Namespaced", "Cluster"]),
        "versions": versions,
        "names": { "shortNames": dice.some("short", 0, &["one", "two"]).iter().map(|name| format!("{name}-SIDE")).collect::<Vec<_>>() },
    } })
}

fn properties(dice: &Dice) -> Value {
    let mut properties = json!({ "size": { "type": "integer" } });
    for name in dice.some("names", 0, &["colour", "list", "age"]) {
        properties[name] = match name {
            "list" => json!({ "type": "array", "items": { "type": "string" } }),
            _ => json!({ "type": "string", "enum": dice.some(name, 1, &["a", "b", "c"]) }),
        };
    }
    properties
}
