//! JSON merge patches (RFC 7386), computed and applied as kubectl does.

use serde_json::Value;

use super::{MergeError, Object};

pub(super) fn three_way(
    original: &Object,
    modified: &Object,
    current: &Object,
) -> Result<Object, MergeError> {
    let changes = without_nulls(difference(current, modified));
    let deletions = only_nulls(difference(original, modified));
    let patch = overlay(deletions, changes);
    let renamed = patch.get("metadata").is_some_and(|metadata| metadata.get("name").is_some());
    if renamed || patch.contains_key("apiVersion") || patch.contains_key("kind") {
        return Err(MergeError::IdentityChanged);
    }
    Ok(patch)
}

/// Computes the merge patch from one object to the other; lists are replaced as a whole.
fn difference(from: &Object, to: &Object) -> Object {
    let mut patch = Object::new();
    for (key, new) in to {
        match (from.get(key), new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = difference(old, new);
                if !inner.is_empty() {
                    patch.insert(key.clone(), inner.into());
                }
            }
            (Some(old), new) if same(old, new) => {}
            (_, new) => _ = patch.insert(key.clone(), new.clone()),
        }
    }
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    patch
}

/// Equality in which `1` equals `1.0`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the part of a patch that sets values. An empty map is a value; a map that becomes empty here is dropped.
fn without_nulls(patch: Object) -> Object {
    let kept = |(key, value): (String, Value)| match value {
        Value::Null => None,
        Value::Object(map) if !map.is_empty() => {
            let map = without_nulls(map);
            (!map.is_empty()).then(|| (key, map.into()))
        }
        value => Some((key, value)),
    };
    patch.into_iter().filter_map(kept).collect()
}

/// Returns the part of a patch that deletes values.
fn only_nulls(patch: Object) -> Object {
    let kept = |(key, value): (String, Value)| match value {
        Value::Null => Some((key, Value::Null)),
        Value::Object(map) => {
            let map = only_nulls(map);
            (!map.is_empty()).then(|| (key, map.into()))
        }
        _ => None,
    };
    patch.into_iter().filter_map(kept).collect()
}

/// Applies a merge patch to an object; nulls of the object itself stay.
pub(super) fn overlay(mut target: Object, patch: Object) -> Object {
    for (key, mut value) in patch {
        if value.is_null() {
            target.remove(&key);
            continue;
        }
        let merged = match (target.remove(&key), value) {
            (Some(Value::Object(target)), Value::Object(patch)) => overlay(target, patch).into(),
            (Some(Value::Object(_)), scalar) => scalar,
            (_, taken) => {
                value = taken;
                prune_nulls(&mut value);
                value
            }
        };
        target.insert(key, merged);
    }
    target
}

/// Removes the null fields of all maps at any depth; null elements of lists stay.
pub(super) fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(prune_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}
