//! Who owns which field: how ownership moves from client-side apply to server-side apply.
//!
//! Whoever applied client-side owns its fields by updates. If server-side apply began beside that, what a manifest drops
//! would stay for ever, owned by the past. So the fields of such managers are joined with those of the one that applies,
//! as kubectl does since 1.26.

use serde_json::{Value, json};

use crate::merge::{Object, last_applied::LAST_APPLIED};

/// How a manager came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// By server-side apply.
    Apply,
    /// By any other write, client-side apply among them.
    Update,
}

/// The managers that own the annotation of client-side apply: those that applied that way, or took care of it.
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

/// The JSON patch that gives what these managers own by updates to one that applies server-side; none if they own nothing.
///
/// It holds for this version of the object only: the API server answers 409 if that has changed.
pub fn move_to_apply(object: &Object, from: &[String], to: &str) -> Option<Value> {
    let before = entries(object);
    let mut after = before.to_vec();
    for manager in from {
        adopt(&mut after, manager, to);
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

/// Joins the fields of one manager's updates with those of the one that applies, which may not be there yet.
fn adopt(entries: &mut Vec<Value>, from: &str, to: &str) {
    let is_former = |entry: &Value| is(entry, from, Ownership::Update);
    let applies = entries.iter().position(|entry| is(entry, to, Ownership::Apply));
    // The newest comes first.
    let Some(heir) = applies.or_else(|| entries.iter().position(is_former)) else { return };
    let version = entries[heir]["apiVersion"].clone();
    let former = entries.iter().find(|entry| is_former(entry) && entry["apiVersion"] == version);
    let inherited = former.map(|former| former["fieldsV1"].clone());
    let heir = &mut entries[heir];
    heir["manager"] = to.into();
    heir["operation"] = Ownership::Apply.as_str().into();
    if let Some(inherited) = inherited {
        heir["fieldsV1"] = union(heir["fieldsV1"].take(), inherited);
    }
    entries.retain(|entry| !is_former(entry));
}

/// Subresources have owners of their own, which are left alone.
fn is(entry: &Value, manager: &str, by: Ownership) -> bool {
    let subresource = entry["subresource"].as_str().unwrap_or_default();
    entry["manager"] == manager && entry["operation"] == by.as_str() && subresource.is_empty()
}

/// Joins two sets of fields.
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

/// Joins what is said of one field. One that has no fields is a member itself; one that has, only if it says so by `.`.
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
    fn fields_of_client_side_apply_are_joined_with_those_of_who_applies() {
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
    fn the_newest_update_becomes_an_apply_if_nobody_applied_yet() {
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
