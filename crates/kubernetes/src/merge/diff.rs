//! Difference of two objects as a strategic merge patch: only changes, or only deletions.

use serde_json::Value;

use super::{
    DELETE_FROM_PRIMITIVE_LIST, MergeError, Object, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER,
    elements::{self, ListPatch},
    parallel,
};
use crate::merge::schema::{MergeRule, Shape, Strategy};

/// Half of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// New and changed values.
    Changes,
    /// Deleted values.
    Deletions,
}

/// Computes the new and changed values of `to`.
pub(super) fn changes(from: &Object, to: &Object, shape: Shape<'_>) -> Result<Object, MergeError> {
    diff(from, to, shape, Half::Changes, false)
}

/// Computes the values of `from` that `to` lacks.
pub(super) fn deletions(from: &Object, to: &Object, shape: Shape<'_>) -> Result<Object, MergeError> {
    diff(from, to, shape, Half::Deletions, false)
}

pub(super) fn diff(
    from: &Object,
    to: &Object,
    shape: Shape<'_>,
    half: Half,
    retain_keys: bool,
) -> Result<Object, MergeError> {
    let mut patch = Object::new();
    for (key, new) in to {
        let Some(old) = from.get(key) else {
            if half == Half::Changes {
                patch.insert(key.clone(), new.clone());
            }
            continue;
        };
        match (old, new) {
            _ if key == PATCH => diff_directive(old, new, &mut patch)?,
            (Value::Object(old), Value::Object(new)) => {
                diff_map(key, (old, new), shape, half, &mut patch)?;
            }
            (Value::Array(old), Value::Array(new)) => diff_list(key, (old, new), shape, half, &mut patch)?,
            _ if half == Half::Changes && old != new => {
                patch.insert(key.clone(), new.clone());
            }
            _ => {}
        }
    }
    if half == Half::Deletions {
        let gone = from.keys().filter(|key| !to.contains_key(*key));
        patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    }
    if retain_keys {
        let retained: Vec<Value> =
            to.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.as_str().into()).collect();
        let clears = from.iter().any(|(key, value)| !value.is_null() && !to.contains_key(key));
        if !retained.is_empty() && (!patch.is_empty() || clears) {
            patch.insert(RETAIN_KEYS.to_owned(), retained.into());
        }
    }
    Ok(patch)
}

/// A manifest that contains a directive itself keeps it in both halves.
fn diff_directive(old: &Value, new: &Value, patch: &mut Object) -> Result<(), MergeError> {
    if !old.is_string() || !new.is_string() {
        return Err(MergeError::bad_directive(PATCH, "a string"));
    }
    if old != new {
        patch.insert(PATCH.to_owned(), new.clone());
    }
    Ok(())
}

fn diff_map(
    key: &str,
    (old, new): (&Object, &Object),
    shape: Shape<'_>,
    half: Half,
    patch: &mut Object,
) -> Result<(), MergeError> {
    let (shape, MergeRule { strategy, retain_keys, .. }) = shape.field(key);
    if strategy == Strategy::Replace {
        // Even without a change, as in kubectl: such a patch is never empty.
        if half == Half::Changes {
            patch.insert(key.to_owned(), Value::Object(new.clone()));
        }
        return Ok(());
    }
    let difference = diff(old, new, shape, half, retain_keys)?;
    if !difference.is_empty() {
        patch.insert(key.to_owned(), Value::Object(difference));
    }
    Ok(())
}

fn diff_list(
    key: &str,
    (old, new): (&[Value], &[Value]),
    shape: Shape<'_>,
    half: Half,
    patch: &mut Object,
) -> Result<(), MergeError> {
    let (shape, rule) = shape.field(key);
    if rule.strategy != Strategy::Merge {
        if half == Half::Changes && old != new {
            patch.insert(key.to_owned(), new.into());
        }
        return Ok(());
    }
    let ListPatch { elements, removed, order } = elements::diff(old, new, shape, rule, half)?;
    let mut add = |key: String, list: Vec<Value>| {
        if !list.is_empty() {
            patch.insert(key, list.into());
        }
    };
    add(key.to_owned(), elements);
    add(parallel(DELETE_FROM_PRIMITIVE_LIST, key), removed);
    add(parallel(SET_ELEMENT_ORDER, key), order);
    Ok(())
}
