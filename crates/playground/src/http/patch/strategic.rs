//! Strategic merge patches: merge patches that know the keys of lists, and take directives.

use serde_json::{Map, Value};

use super::schema::{is_merged_set, merge_key};
use crate::object::fields;
use crate::status::Status;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

pub(super) fn merge(target: &mut Value, patch: &Value) -> Result<(), Status> {
    merge_object(target, patch, "")
}

/// Merges an object; `at` is the field that it stands in.
fn merge_object(target: &mut Value, patch: &Value, at: &str) -> Result<(), Status> {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(without_directives(patch));
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => {
            let shown = go(&Value::Object(patch.clone()));
            return Err(Status::new(500, "", format!("unknown patch type: {other} in map: {shown}")));
        }
    }
    let target = fields(target);
    if let Some(Value::Array(kept)) = patch.get(RETAIN) {
        target.retain(|key, _| kept.iter().any(|kept| kept == key));
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            delete_values(target, list, value);
        } else if key.starts_with('$') {
            // Orders are applied when all else is merged.
        } else if value.is_null() {
            target.remove(key);
        } else if let Value::Array(items) = value {
            let order = patch.get(&format!("{ORDER}{key}"));
            merge_list(target.entry(key).or_insert(Value::Null), items, at, key, order)?;
        } else {
            merge_object(target.entry(key).or_insert(Value::Null), value, key)?;
        }
    }
    for (key, order) in patch {
        if let Some(list) = key.strip_prefix(ORDER)
            && !patch.contains_key(list)
            && let (Some(Value::Array(items)), Value::Array(order)) = (target.get_mut(list), order)
        {
            let live = items.clone();
            sort(items, &live, merge_key(at, list), order);
        }
    }
    Ok(())
}

fn delete_values(target: &mut Map<String, Value>, list: &str, values: &Value) {
    if let (Some(Value::Array(items)), Value::Array(values)) = (target.get_mut(list), values) {
        items.retain(|item| !values.contains(item));
    }
}

fn merge_list(
    target: &mut Value,
    patch: &[Value],
    parent: &str,
    field: &str,
    order: Option<&Value>,
) -> Result<(), Status> {
    let replaces = patch.iter().any(|item| directive(item) == Some("replace"));
    let key = merge_key(parent, field);
    if replaces || !target.is_array() || (key.is_none() && !is_merged_set(field)) {
        let kept = patch.iter().filter(|item| directive(item).is_none());
        *target = Value::Array(kept.map(clean).collect());
        return Ok(());
    }
    let Value::Array(items) = target else { return Ok(()) };
    let live = items.clone();
    for entry in patch {
        let Some(key) = key else {
            if !items.contains(entry) {
                items.push(entry.clone());
            }
            continue;
        };
        let Some(wanted) = entry.get(key) else {
            let why = format!("map: {} does not contain declared merge key: {key}", go(entry));
            return Err(Status::new(500, "", why));
        };
        let position = items.iter().position(|item| item.get(key) == Some(wanted));
        match (directive(entry), position.and_then(|position| items.get_mut(position))) {
            (Some("delete"), _) => items.retain(|item| item.get(key) != Some(wanted)),
            (_, Some(item)) => merge_object(item, entry, field)?,
            (_, None) => items.push(clean(entry)),
        }
    }
    match order {
        Some(Value::Array(order)) => sort(items, &live, key, order),
        _ => sort(items, &live, key, patch),
    }
    Ok(())
}

/// Brings items into the wanted order. Those that are not named keep their place among the ones that were there.
fn sort(items: &mut Vec<Value>, live: &[Value], key: Option<&str>, order: &[Value]) {
    let same = |one: &Value, other: &Value| match key {
        Some(key) => one.get(key) == other.get(key),
        None => one == other,
    };
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item));
    let (mut named, unnamed): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    let mut unnamed = unnamed.into_iter().peekable();
    for item in named {
        // What is new has no place yet and goes before all others.
        while let Some(other) = unnamed.next_if(|other| place(live, other) < place(live, &item)) {
            items.push(other);
        }
        items.push(item);
    }
    items.extend(unnamed);
}

/// A value as Go prints it, for the words of the real server.
fn go(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn directive(item: &Value) -> Option<&str> {
    item.get(DIRECTIVE).and_then(Value::as_str)
}

fn without_directives(object: &Map<String, Value>) -> Map<String, Value> {
    let kept = object.iter().filter(|(key, value)| !key.starts_with('$') && !value.is_null());
    kept.map(|(key, value)| (key.clone(), clean(value))).collect()
}

/// A new value of a patch, without the words that were meant for merging.
fn clean(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(without_directives(object)),
        Value::Array(items) => Value::Array(items.iter().map(clean).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(mut object: Value, patch: &Value) -> Value {
        merge(&mut object, patch).unwrap();
        object
    }

    fn pod(containers: impl Into<Value>) -> Value {
        let containers = containers.into();
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn containers_are_merged_by_name() {
        let before =
            pod(json!([{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]));
        let patch = pod(json!([
            {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
            {"name": "c"},
        ]));
        let env = json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]);
        let after = pod(json!([{"name": "a", "image": "2", "env": env}, {"name": "c"}]));
        assert_eq!(patched(before, &patch), after);
    }

    #[test]
    fn ports_of_containers_and_services_have_different_keys() {
        let before = pod(json!([{"name": "a", "ports": [{"containerPort": 80, "name": "x"}]}]));
        let patch = pod(json!([{"name": "a", "ports": [{"containerPort": 81}]}]));
        let after =
            pod(json!([{"name": "a", "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "x"}]}]));
        assert_eq!(patched(before, &patch), after);
        let before = json!({"spec": {"ports": [{"port": 80, "targetPort": 1}]}});
        let after = json!({"spec": {"ports": [{"port": 80, "targetPort": 2}]}});
        assert_eq!(patched(before, &after), after);
    }

    #[test]
    fn lists_without_keys_are_replaced() {
        let before = json!({"args": ["a", "b"], "metadata": {"finalizers": ["a"]}});
        let patch = json!({"args": ["c"], "metadata": {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]}});
        assert_eq!(patched(before, &patch), json!({"args": ["c"], "metadata": {"finalizers": ["b"]}}));
    }

    #[test]
    fn order_and_replace_directives_are_followed() {
        let before = pod(json!([{"name": "a"}, {"name": "b"}]));
        let patch = json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
            "containers": [{"name": "c"}],
        }}}});
        assert_eq!(patched(before, &patch), pod(json!([{"name": "c"}, {"name": "b"}, {"name": "a"}])));
        let before = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        let patch = json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}});
        assert_eq!(patched(before, &patch), json!({"strategy": {"type": "Recreate"}}));
        let patch = json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}});
        let before = json!({"metadata": {"labels": {"a": "1"}}});
        assert_eq!(patched(before, &patch), json!({"metadata": {"labels": {"b": "2"}}}));
    }
}
