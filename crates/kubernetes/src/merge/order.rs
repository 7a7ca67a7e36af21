//! Order of merged lists: elements of the patch in its order, those that only the live list has at their places between.

use std::cmp::Ordering;

use serde_json::Value;

use super::{MergeError, PATCH};

/// Returns the index of an element: a map by its merge key, a scalar by its value.
fn position(list: &[Value], element: &Value, key: Option<&str>) -> Option<usize> {
    let same = |other: &Value| match key {
        Some(key) => other.get(key) == element.get(key),
        None => other == element,
    };
    list.iter().position(same)
}

/// Returns the elements with only their merge keys.
pub(super) fn keys(list: &[Value], key: &str) -> Vec<Value> {
    let only_key = |element: &Value| {
        let value = element.get(key).cloned().unwrap_or(Value::Null);
        Value::Object([(key.to_owned(), value)].into_iter().collect())
    };
    list.iter().map(only_key).collect()
}

/// Whether two lists of maps have the same merge keys in the same order.
pub(super) fn same(a: &[Value], b: &[Value], key: &str) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.get(key) == b.get(key))
}

/// Sorts elements in the order of `by`; in lists of maps, deletions come last.
pub(super) fn arrange(
    elements: Vec<Value>,
    by: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, MergeError> {
    let Some(key) = key else {
        let mut elements = elements;
        arrange_scalars(&mut elements, by);
        return Ok(elements);
    };
    if let Some(element) = elements.iter().chain(by).find(|element| element.get(key).is_none()) {
        return Err(MergeError::no_merge_key(key, element));
    }
    let (deleted, mut kept): (Vec<_>, Vec<_>) = elements.into_iter().partition(is_deleted);
    kept.sort_by_cached_key(|element| position(by, element, Some(key)));
    kept.extend(deleted);
    Ok(kept)
}

pub(super) fn arrange_scalars(elements: &mut [Value], by: &[Value]) {
    elements.sort_by_cached_key(|element| position(by, element, None));
}

pub(super) fn is_deleted(element: &Value) -> bool {
    element.get(PATCH).is_some_and(|directive| directive == "delete")
}

/// Sorts a merged list: elements of `wanted` in its order, others in that of `server`.
pub(super) fn enforce(
    merged: Vec<Value>,
    wanted: &[Value],
    server: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, MergeError> {
    if let Some(key) = key
        && let Some(element) = merged.iter().find(|element| element.get(key).is_none())
    {
        return Err(MergeError::no_merge_key(key, element));
    }
    let (named, others) = merged.into_iter().partition(|element| position(wanted, element, key).is_some());
    let (named, others) = (arrange(named, wanted, key)?, arrange(others, server, key)?);
    Ok(interleave(others, named, server, key))
}

/// Places each element of the server before the first named one that follows it there.
fn interleave(others: Vec<Value>, named: Vec<Value>, server: &[Value], key: Option<&str>) -> Vec<Value> {
    let mut all = Vec::with_capacity(others.len() + named.len());
    let (mut others, mut named) = (others.into_iter().peekable(), named.into_iter().peekable());
    loop {
        let next = match (others.peek(), named.peek()) {
            (Some(other), Some(name)) => {
                let (other, name) = (position(server, other, key), position(server, name, key));
                match other.zip(name).map(|(other, name)| other.cmp(&name)) {
                    Some(Ordering::Less) => others.next(),
                    _ => named.next(),
                }
            }
            (Some(_), None) => others.next(),
            (None, _) => named.next(),
        };
        let Some(next) = next else { return all };
        all.push(next);
    }
}
