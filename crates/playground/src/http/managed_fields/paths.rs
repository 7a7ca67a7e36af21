//! Field paths: those that an object sets, lookups, removal, and merges along them.

use serde_json::{Map, Value, json};

use super::{FieldPath, FieldSet};
use crate::catalogue::Resource;
use crate::http::patch::{ListKind, is_atomic_object, list_kind};

/// Metadata fields that belong to the server.
const SERVER_FIELDS: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "generateName",
];

/// Fields that an object sets, down to atomic values.
pub(crate) fn paths_of(object: &Value, resource: &Resource) -> FieldSet {
    let mut fields = FieldSet::new();
    let Value::Object(top) = object else { return fields };
    for (key, value) in top {
        match key.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let Value::Object(meta) = value else { continue };
                for (key, value) in meta.iter().filter(|(key, _)| !SERVER_FIELDS.contains(&key.as_str())) {
                    let mut path = vec!["f:metadata".to_owned(), format!("f:{key}")];
                    walk(value, "metadata", key, &mut path, &mut fields, true);
                }
            }
            // Lists of custom resources are atomic: their schema is not consulted.
            _ => walk(value, "", key, &mut vec![format!("f:{key}")], &mut fields, resource.custom.is_none()),
        }
    }
    fields
}

fn walk(value: &Value, parent: &str, field: &str, path: &mut FieldPath, fields: &mut FieldSet, keyed: bool) {
    match value {
        Value::Object(below) if !below.is_empty() && (!keyed || !is_atomic_object(field)) => {
            for (key, value) in below {
                path.push(format!("f:{key}"));
                walk(value, field, key, path, fields, keyed);
                path.pop();
            }
        }
        Value::Array(items) if keyed && !items.is_empty() => match parts(parent, field, items) {
            None => drop(fields.insert(path.clone())),
            Some(parts) => {
                for (part, item) in parts.into_iter().zip(items) {
                    path.push(part);
                    fields.insert(path.clone());
                    if let Value::Object(below) = item {
                        for (key, value) in below {
                            path.push(format!("f:{key}"));
                            walk(value, field, key, path, fields, keyed);
                            path.pop();
                        }
                    }
                    path.pop();
                }
            }
        },
        Value::Null => {}
        _ => drop(fields.insert(path.clone())),
    }
}

/// Path elements of the items of a list; none if the list is atomic.
fn parts(parent: &str, field: &str, items: &[Value]) -> Option<Vec<String>> {
    match list_kind(parent, field) {
        ListKind::Atomic => None,
        ListKind::Set => Some(items.iter().map(|item| format!("v:{item}")).collect()),
        ListKind::Map(keys) => items.iter().map(|item| key_of(item, keys)).collect(),
    }
}

fn key_of(item: &Value, keys: &[&str]) -> Option<String> {
    let mut named = Map::new();
    for key in keys {
        // The only merge key with a default.
        let value = item.get(*key).cloned().or_else(|| (*key == "protocol").then(|| json!("TCP")))?;
        named.insert((*key).to_owned(), value);
    }
    Some(format!("k:{}", Value::Object(named)))
}

fn is_item(item: &Value, part: &str) -> bool {
    if let Some(value) = part.strip_prefix("v:") {
        return serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item);
    }
    let Some(Ok(Value::Object(keys))) = part.strip_prefix("k:").map(serde_json::from_str) else {
        return false;
    };
    keys.iter().all(|(key, wanted)| {
        let found = item.get(key).cloned().or_else(|| (key == "protocol").then(|| json!("TCP")));
        found.as_ref() == Some(wanted)
    })
}

/// Value at a path.
pub(crate) fn find<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, part| match (value, part.strip_prefix("f:")) {
        (Value::Object(fields), Some(field)) => fields.get(field),
        (Value::Array(items), None) => items.iter().find(|item| is_item(item, part)),
        _ => None,
    })
}

/// Removes the value at a path, and objects that become empty; the first element always stays.
pub(crate) fn remove(object: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    match (object, first.strip_prefix("f:")) {
        (Value::Object(fields), Some(field)) => {
            if rest.is_empty() {
                fields.remove(field);
            } else if let Some(below) = fields.get_mut(field) {
                remove_below(below, rest);
                let empty = below.as_object().is_some_and(Map::is_empty)
                    || below.as_array().is_some_and(Vec::is_empty);
                if empty && !matches!(field, "metadata" | "spec" | "status") {
                    fields.remove(field);
                }
            }
        }
        (Value::Array(items), None) => {
            if rest.is_empty() {
                items.retain(|item| !is_item(item, first));
            } else if let Some(item) = items.iter_mut().find(|item| is_item(item, first)) {
                remove_below(item, rest);
            }
        }
        _ => {}
    }
}

fn remove_below(value: &mut Value, path: &[String]) {
    remove(value, path);
}

/// Merges an applied value into the live one.
pub(crate) fn merge(live: &mut Value, applied: &Value, parent: &str, field: &str, keyed: bool) {
    match applied {
        Value::Object(fields) if live.is_object() && (!keyed || !is_atomic_object(field)) => {
            let live = crate::object::fields(live);
            for (key, value) in fields {
                if value.is_null() {
                    live.remove(key);
                    continue;
                }
                let keyed = keyed || field == "metadata";
                merge(live.entry(key).or_insert(Value::Null), value, field, key, keyed);
            }
        }
        Value::Array(items) if keyed && live.is_array() => {
            let Some(parts) = parts(parent, field, items) else {
                *live = applied.clone();
                return;
            };
            let Value::Array(known) = live else { return };
            for (part, item) in parts.iter().zip(items) {
                match known.iter_mut().find(|found| is_item(found, part)) {
                    Some(found) => merge(found, item, parent, field, keyed),
                    None => known.push(item.clone()),
                }
            }
        }
        _ => *live = applied.clone(),
    }
}

/// A path as error messages write it: `.spec.containers[name="a"].image`.
pub(crate) fn spell(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if let Some(field) = part.strip_prefix("f:") {
            text.push('.');
            text.push_str(field);
        } else if let Some(Ok(Value::Object(keys))) = part.strip_prefix("k:").map(serde_json::from_str) {
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            text.extend(["[", &keys.join(","), "]"]);
        } else if let Some(value) = part.strip_prefix("v:") {
            text.extend(["[=", value, "]"]);
        }
    }
    text
}
