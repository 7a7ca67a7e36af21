//! Merging of a strategic merge patch into an object or another patch.

use serde_json::Value;

use super::{
    DELETE_FROM_PRIMITIVE_LIST, MergeError, Object, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER,
    elements::{ElementType, element_type},
    json, order, scalar,
};
use crate::merge::schema::{MergeRule, Shape, Strategy};

/// Target of the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Another patch: directives and nulls are kept for the API server.
    JoinPatches,
    /// An object: directives are executed, as the API server does.
    Apply,
}

pub(super) fn overlay(
    mut target: Object,
    mut patch: Object,
    shape: Shape<'_>,
    purpose: Purpose,
) -> Result<Object, MergeError> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => {
                patch.insert(PATCH.to_owned(), directive);
                Err(MergeError::unknown_patch_type(patch.into(), "replace or delete"))
            }
        };
    }
    retain_keys(&mut target, &mut patch, purpose)?;
    set_orders(&mut target, &mut patch, shape, purpose)?;
    for (key, value) in patch {
        if key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
            match purpose {
                Purpose::JoinPatches => _ = target.insert(key, value),
                Purpose::Apply => remove_scalars(&mut target, &key, &value)?,
            }
            continue;
        }
        if value.is_null() {
            target.remove(&key);
            if purpose == Purpose::JoinPatches {
                target.insert(key, Value::Null);
            }
            continue;
        }
        let (inner, rule) = shape.field(&key);
        let merged = match (target.remove(&key), value) {
            (Some(Value::Object(target)), Value::Object(patch)) => Some(match rule.strategy {
                Strategy::Replace => patch.into(),
                _ => overlay(target, patch, inner, purpose)?.into(),
            }),
            (Some(Value::Array(target)), Value::Array(patch)) => Some(match rule.strategy {
                Strategy::Merge => merge_lists(target, patch, inner, rule, purpose)?.into(),
                _ => patch.into(),
            }),
            (_, value) => new_value(value, purpose),
        };
        if let Some(merged) = merged {
            target.insert(key, merged);
        }
    }
    Ok(target)
}

/// Returns a new value of the patch, without directives.
fn new_value(mut value: Value, purpose: Purpose) -> Option<Value> {
    if purpose == Purpose::Apply {
        json::prune_nulls(&mut value);
    }
    without_directives(value)
}

/// Removes every map with a `$patch` directive.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) if map.contains_key(PATCH) => return None,
        Value::Object(map) => {
            map.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?))).collect()
        }
        Value::Array(list) => list.into_iter().filter_map(without_directives).collect(),
        scalar => scalar,
    })
}

fn retain_keys(target: &mut Object, patch: &mut Object, purpose: Purpose) -> Result<(), MergeError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    if purpose == Purpose::JoinPatches {
        return join(target, RETAIN_KEYS, retained);
    }
    let bad = || MergeError::bad_directive(RETAIN_KEYS, "a list of all keys in the patch");
    let retained = retained.as_array().ok_or_else(bad)?;
    let is_retained = |key: &str| retained.iter().any(|retained| retained == key);
    let is_list_directive =
        |key: &str| key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
    if !patch.iter().all(|(key, value)| value.is_null() || is_list_directive(key) || is_retained(key)) {
        return Err(bad());
    }
    target.retain(|key, _| is_retained(key));
    Ok(())
}

/// Merges every list with a `$setElementOrder` directive, and removes both from the patch.
fn set_orders(
    target: &mut Object,
    patch: &mut Object,
    shape: Shape<'_>,
    purpose: Purpose,
) -> Result<(), MergeError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let bad = |expected| MergeError::bad_directive(&directive, expected);
        let Some(Value::Array(wanted)) = patch.remove(&directive) else { return Err(bad("a list")) };
        let Some((SET_ELEMENT_ORDER, list)) = directive.split_once('/') else {
            return Err(bad("followed by / and the name of a list"));
        };
        let (inner, rule) = shape.field(list);
        let as_list = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(bad("about a list")),
        };
        let (old, new) = (as_list(target.remove(list))?, as_list(patch.remove(list))?);
        check_order(new.as_deref().unwrap_or_default(), &wanted, rule.merge_key).map_err(bad)?;
        let server =
            server_order(old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default(), rule);
        let merged = match (old, new) {
            (Some(old), None) => Some(old),
            (None, Some(new)) => Some(new.into_iter().filter_map(without_directives).collect()),
            (Some(old), Some(new)) if rule.strategy == Strategy::Merge => {
                Some(merge_lists(old, new, inner, rule, purpose)?)
            }
            (Some(_), Some(new)) => Some(new),
            (None, None) => None,
        };
        if let Some(merged) = merged {
            let ordered = order::enforce(merged, &wanted, &server, rule.merge_key)?;
            target.insert(list.to_owned(), ordered.into());
        }
        if purpose == Purpose::JoinPatches {
            join(target, &directive, wanted.into())?;
        }
    }
    Ok(())
}

/// Joins a directive that both patches have. Both lead to the same map, so that they are equal, unless elements were
/// paired that are not the same.
fn join(target: &mut Object, directive: &str, value: Value) -> Result<(), MergeError> {
    match target.get(directive) {
        Some(other) if *other != value => {
            Err(MergeError::bad_directive(directive, "the same in both patches"))
        }
        _ => {
            target.insert(directive.to_owned(), value);
            Ok(())
        }
    }
}

/// Returns the order of the live list, by which elements that only the live list has are placed.
///
/// In Go, deletions from and additions to that list modify it while it is used: the first additions take the positions
/// that deletions freed at its end.
fn server_order(old: &[Value], patch: &[Value], rule: MergeRule<'_>) -> Vec<Value> {
    let Some(key) = rule.merge_key else { return old.to_vec() };
    let has = |list: &[&Value], element: &Value| list.iter().any(|other| other.get(key) == element.get(key));
    let (deleted, kept): (Vec<&Value>, Vec<&Value>) =
        patch.iter().partition(|element| order::is_deleted(element));
    let remaining: Vec<&Value> = old.iter().filter(|element| !has(&deleted, element)).collect();
    let added = kept.into_iter().filter(|element| !has(&remaining, element));
    let added: Vec<Value> = added.take(old.len() - remaining.len()).cloned().collect();
    let mut order: Vec<Value> = remaining.into_iter().cloned().collect();
    order.extend(added);
    order::keys(&order, key)
}

/// Checks that the elements that the patch keeps or adds occur in the order of the directive.
fn check_order(patch: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), &'static str> {
    if wanted.is_empty() {
        return Ok(());
    }
    let same = |a: &Value, b: &Value| match key {
        Some(key) => a.get(key) == b.get(key),
        None => a == b,
    };
    let mut wanted = wanted.iter();
    let mut kept = patch.iter().filter(|element| element.get(PATCH).is_none());
    let in_order = kept.all(|element| wanted.any(|other| same(element, other)));
    if in_order { Ok(()) } else { Err("in the same order as the list") }
}

fn merge_lists(
    target: Vec<Value>,
    patch: Vec<Value>,
    shape: Shape<'_>,
    rule: MergeRule<'_>,
    purpose: Purpose,
) -> Result<Vec<Value>, MergeError> {
    match element_type([&*target, &*patch])? {
        None => Ok(target),
        Some(ElementType::Object) => {
            let key = rule.merge_key.unwrap_or_default();
            let (mut target, patch) = execute_directives(target, patch, key)?;
            let (server, wanted) = (order::keys(&target, key), order::keys(&patch, key));
            for element in patch {
                merge_element(&mut target, element, key, shape, purpose)?;
            }
            order::enforce(target, &wanted, &server, Some(key))
        }
        Some(_) => {
            let mut merged = target.clone();
            merged.extend_from_slice(&patch);
            scalar::deduplicate(&mut merged);
            order::enforce(merged, &patch, &target, None)
        }
    }
}

/// Executes the `$patch` of elements: returns the rest of the list, and the elements to merge into it.
fn execute_directives(
    mut target: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), MergeError> {
    let mut rest = Vec::new();
    let mut replaces = false;
    for element in patch {
        let Some(directive) = element.get(PATCH) else {
            rest.push(element);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let Some(value) = element.get(key) else {
                    return Err(MergeError::no_merge_key(key, &element));
                };
                target.retain(|other| other.get(key) != Some(value));
            }
            Some("replace") => replaces = true,
            _ => {
                let expected = "delete or replace in an element of a list";
                return Err(MergeError::unknown_patch_type(element, expected));
            }
        }
    }
    Ok(if replaces { (rest, Vec::new()) } else { (target, rest) })
}

fn merge_element(
    target: &mut Vec<Value>,
    element: Value,
    key: &str,
    shape: Shape<'_>,
    purpose: Purpose,
) -> Result<(), MergeError> {
    let value = element.get(key).ok_or_else(|| MergeError::no_merge_key(key, &element))?;
    let same = target.iter_mut().find(|other| other.get(key) == Some(value));
    match (same, element) {
        (Some(same), Value::Object(patch)) => {
            let Value::Object(old) = same.take() else {
                return Err(MergeError::no_merge_key(key, &patch.into()));
            };
            *same = overlay(old, patch, shape, purpose)?.into();
        }
        (_, element) => target.push(element),
    }
    Ok(())
}

fn remove_scalars(target: &mut Object, directive: &str, removed: &Value) -> Result<(), MergeError> {
    let bad = |expected| MergeError::bad_directive(directive, expected);
    let Some((DELETE_FROM_PRIMITIVE_LIST, list)) = directive.split_once('/') else {
        return Err(bad("followed by / and the name of a list"));
    };
    let (Some(list), Some(removed)) =
        (target.get_mut(list).and_then(Value::as_array_mut), removed.as_array())
    else {
        return Ok(());
    };
    if element_type([&**list, &**removed])? == Some(ElementType::Object) {
        return Err(bad("about a list of scalars"));
    }
    list.retain(|element| !removed.contains(element));
    Ok(())
}
