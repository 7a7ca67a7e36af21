//! Migration of field ownership from client-side apply to server-side apply.
//!
//! A manager of client-side apply owns its fields by `Update`. If server-side apply started beside it, fields that a
//! manifest drops would stay for ever, owned by the old manager. So the fields of such managers are joined with those of
//! the manager of server-side apply, as kubectl does since 1.26.

use serde_json::{Value, json};

use crate::merge::{Object, last_applied::LAST_APPLIED};

/// Operation by which a manager owns fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Server-side apply.
    Apply,
    /// Any other write, client-side apply included.
    Update,
}

/// Returns the managers that own the annotation of client-side apply.
pub fn owners_of_last_applied(object: &Object, by: Ownership) -> Vec<String> {
    let annotation = format!("f:{LAST_APPLIED}");
    let owns = |entry: &&Value| {
        let fields = &entry["fieldsV1"]["f:metadata"]["f:annotations"];
        entry["operation"] == by.as_str() && fields.get(&annotation).is_some()
    };
    let mut owners: Vec<String> = entries(object)
        .iter()
        .filter(owns)
        .filter_map(|entry| entry["manager"].as_str())
        .map(Into::into)
        .collect();
    owners.sort();
    owners.dedup();
    owners
}

/// Computes the JSON patch that moves the fields that these managers own by `Update` to a manager of server-side apply;
/// none if they own nothing.
///
/// It is valid for this resource version only: the API server returns 409 if the object has changed.
pub fn move_to_apply(object: &Object, from: &[String], to: &str) -> Option<Value> {
    let before = entries(object);
    let mut after = before.to_vec();
    for manager in from {
        move_fields(&mut after, manager, to);
    }
    if after == before {
        return None;
    }
    let version = object.get("metadata").map(|metadata| metadata["resourceVersion"].clone());
    Some(json!([
        { "op": "replace", "path": "/metadata/managedFields", "value": after },
        { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
    ]))
}

fn entries(object: &Object) -> &[Value] {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    entries.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Joins the fields that one manager owns by `Update` with those of the target, which may not exist yet.
fn move_fields(entries: &mut Vec<Value>, from: &str, to: &str) {
    let is_former = |entry: &Value| is(entry, from, Ownership::Update);
    let applies = entries.iter().position(|entry| is(entry, to, Ownership::Apply));
    // The newest comes first.
    let Some(target) = applies.or_else(|| entries.iter().position(is_former)) else { return };
    let version = entries[target]["apiVersion"].clone();
    let former = entries.iter().find(|entry| is_former(entry) && entry["apiVersion"] == version);
    let joined = former.map(|former| former["fieldsV1"].clone());
    let target = &mut entries[target];
    target["manager"] = to.into();
    target["operation"] = Ownership::Apply.as_str().into();
    if let Some(joined) = joined {
        target["fieldsV1"] = union(target["fieldsV1"].take(), joined);
    }
    entries.retain(|entry| !is_former(entry));
}

/// Whether an entry is that of a manager. Entries of subresources are not changed.
fn is(entry: &Value, manager: &str, by: Ownership) -> bool {
    let subresource = entry["subresource"].as_str().unwrap_or_default();
    entry["manager"] == manager && entry["operation"] == by.as_str() && subresource.is_empty()
}

/// Joins two field sets.
fn union(a: Value, b: Value) -> Value {
    let map = |fields: Value| if let Value::Object(map) = fields { map } else { Object::new() };
    let (mut a, b) = (map(a), map(b));
    for (name, fields) in b {
        let joined = match a.remove(&name) {
            Some(own) => union_of_member(own, fields),
            None => fields,
        };
        a.insert(name, joined);
    }
    Value::Object(a)
}

/// Joins two sets of one field. A field without children is a member itself; one with children only if it has `.`.
fn union_of_member(a: Value, b: Value) -> Value {
    let is_leaf = |fields: &Value| fields.as_object().is_none_or(Object::is_empty);
    let itself = is_leaf(&a) != is_leaf(&b);
    let mut joined = union(a, b);
    if itself {
        joined["."] = json!({});
    }
    joined
}

// === impl Ownership ===

impl Ownership {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "so that json! can stand in its place")]
mod tests {
    use super::*;

    fn object(managed: Value) -> Object {
        let Value::Object(object) =
            json!({ "metadata": { "resourceVersion": "7", "managedFields": managed } })
        else {
            panic!("an object")
        };
        object
    }

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields })
    }

    fn moved(managed: Value, from: &[&str]) -> Option<Value> {
        let from: Vec<String> = from.iter().map(|name| (*name).to_owned()).collect();
        move_to_apply(&object(managed), &from, "kubectl")
    }

    #[test]
    fn fields_of_client_side_apply_are_joined_with_those_of_server_side_apply() {
        let managed = json!([
            entry("kubectl", "Apply", json!({ "f:data": { "f:a": {} }, "f:spec": {} })),
            entry("before", "Update", json!({ "f:data": { ".": {}, "f:b": {} }, "f:spec": { "f:x": {} } })),
            entry("controller", "Update", json!({ "f:status": {} })),
        ]);
        let patch = moved(managed, &["before"]).unwrap();
        let fields = json!({ "f:data": { ".": {}, "f:a": {}, "f:b": {} }, "f:spec": { ".": {}, "f:x": {} } });
        let after = json!([
            entry("kubectl", "Apply", fields),
            entry("controller", "Update", json!({ "f:status": {} })),
        ]);
        assert_eq!(patch[0], json!({ "op": "replace", "path": "/metadata/managedFields", "value": after }));
        assert_eq!(patch[1], json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": "7" }));
    }

    #[test]
    fn the_newest_update_becomes_an_apply_without_an_earlier_apply() {
        let managed = json!([
            entry("mine", "Update", json!({ "f:data": {} })),
            json!({ "manager": "mine", "operation": "Update", "apiVersion": "v1beta1", "fieldsV1": { "f:old": {} } }),
            json!({ "manager": "mine", "operation": "Update", "apiVersion": "v1", "subresource": "status",
                    "fieldsV1": { "f:status": {} } }),
        ]);
        let patch = moved(managed.clone(), &["mine"]).unwrap();
        let after = json!([entry("kubectl", "Apply", json!({ "f:data": {} })), managed[2]]);
        assert_eq!(patch[0]["value"], after);
    }

    #[test]
    fn nothing_is_sent_if_nothing_moves() {
        let managed = json!([entry("kubectl", "Apply", json!({ "f:data": {} }))]);
        assert_eq!(moved(managed.clone(), &["absent"]), None);
        assert_eq!(moved(managed, &[]), None);
        assert_eq!(moved(json!(null), &["absent"]), None);
    }

    #[test]
    fn owners_of_the_annotation_are_found_by_how_they_own_it() {
        let annotation = json!({ "f:metadata": { "f:annotations": { format!("f:{LAST_APPLIED}"): {} } } });
        let object = object(json!([
            entry("a", "Update", annotation.clone()),
            entry("b", "Apply", annotation),
            entry("c", "Update", json!({ "f:metadata": { "f:annotations": { ".": {} } } })),
        ]));
        assert_eq!(owners_of_last_applied(&object, Ownership::Update), ["a"]);
        assert_eq!(owners_of_last_applied(&object, Ownership::Apply), ["b"]);
    }
}
