//! Difference of two lists that are merged element by element.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use super::{
    MergeError, Object, PATCH,
    diff::{self, Half},
    order, scalar,
};
use crate::merge::schema::{MergeRule, Shape};

/// Patch of one list.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ListPatch {
    /// Under the name of the list: new and changed elements; in lists of maps also deletions.
    pub(super) elements: Vec<Value>,
    /// Deleted scalars.
    pub(super) removed: Vec<Value>,
    /// Order of the resulting list.
    pub(super) order: Vec<Value>,
}

/// Type of the elements of a list; Go distinguishes integers from other numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementType {
    Object,
    String,
    Bool,
    Integer,
    Float,
}

/// Element with the text of its merge key, by which it is sorted and found.
type Keyed<'a> = (Cow<'a, str>, &'a Object);

pub(super) fn diff(
    from: &[Value],
    to: &[Value],
    shape: Shape<'_>,
    rule: MergeRule<'_>,
    half: Half,
) -> Result<ListPatch, MergeError> {
    if from.is_empty() {
        let elements = if half == Half::Changes { to.to_vec() } else { Vec::new() };
        return Ok(ListPatch { elements, ..ListPatch::default() });
    }
    match element_type([from, to])?.ok_or(MergeError::MixedElements)? {
        ElementType::Object => diff_maps(from, to, shape, rule, half),
        _ => Ok(diff_scalars(from, to, half)),
    }
}

/// Returns the common type of all elements of these lists; none if they are empty.
pub(super) fn element_type<'a>(
    lists: impl IntoIterator<Item = &'a [Value]>,
) -> Result<Option<ElementType>, MergeError> {
    let mut common = None;
    for element in lists.into_iter().flatten() {
        let own = match element {
            Value::Object(_) => ElementType::Object,
            Value::String(_) => ElementType::String,
            Value::Bool(_) => ElementType::Bool,
            Value::Number(number) if number.is_f64() => ElementType::Float,
            Value::Number(_) => ElementType::Integer,
            Value::Array(_) => return Err(MergeError::ListOfLists),
            Value::Null => return Err(MergeError::MixedElements),
        };
        if *common.get_or_insert(own) != own {
            return Err(MergeError::MixedElements);
        }
    }
    Ok(common)
}

fn diff_maps(
    from: &[Value],
    to: &[Value],
    shape: Shape<'_>,
    rule: MergeRule<'_>,
    half: Half,
) -> Result<ListPatch, MergeError> {
    let key = rule.merge_key.unwrap_or_default();
    let (old, new) = (sorted_by_key(from, key)?, sorted_by_key(to, key)?);
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    let (mut elements, mut deleted) = (Vec::new(), Vec::new());
    loop {
        let side = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let old = if side.is_le() { old.next() } else { None };
        let new = if side.is_ge() { new.next() } else { None };
        match (old, new) {
            (Some((_, old)), Some((_, new))) => {
                let mut difference = diff::diff(old, new, shape, half, rule.retain_keys)?;
                if !difference.is_empty() {
                    difference.insert(key.to_owned(), new[key].clone());
                    elements.push(Value::Object(difference));
                }
            }
            (None, Some((_, new))) if half == Half::Changes => elements.push(Value::Object(new.clone())),
            (Some((_, old)), None) if half == Half::Deletions => {
                let directive = [(key.to_owned(), old[key].clone()), (PATCH.to_owned(), "delete".into())];
                deleted.push(Value::Object(directive.into_iter().collect()));
            }
            _ => {}
        }
    }
    let mut elements = order::arrange(elements, to, Some(key))?;
    elements.extend(deleted);
    let reordered = half == Half::Changes && !order::same(from, to, key);
    let order = if elements.is_empty() && !reordered { Vec::new() } else { order::keys(to, key) };
    Ok(ListPatch { elements, removed: Vec::new(), order })
}

/// Sorts elements by the text of their keys. Equal ones, such as a Service's port 53 over TCP and over UDP, come in
/// reverse order, as Go's sort leaves them in short lists.
fn sorted_by_key<'a>(list: &'a [Value], key: &str) -> Result<Vec<Keyed<'a>>, MergeError> {
    let keyed = |element: &'a Value| {
        let value = element.get(key).map(scalar::text);
        value.zip(element.as_object()).ok_or_else(|| MergeError::no_merge_key(key, element))
    };
    let mut keyed: Vec<_> = list.iter().rev().map(keyed).collect::<Result<_, _>>()?;
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(keyed)
}

fn diff_scalars(from: &[Value], to: &[Value], half: Half) -> ListPatch {
    let (old, new) = (scalar::sorted(from), scalar::sorted(to));
    // kubectl sorts the old list in place before it compares the lists, so that an unsorted list gets an order directive
    // with every apply.
    let differ = !old.iter().copied().eq(to);
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    loop {
        let side = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => scalar::text(old).cmp(&scalar::text(new)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let old = if side.is_le() { old.next() } else { None };
        let new = if side.is_ge() { new.next() } else { None };
        match (old, new) {
            (None, Some(new)) if half == Half::Changes => added.push(new.clone()),
            (Some(old), None) if half == Half::Deletions => removed.push(old.clone()),
            _ => {}
        }
    }
    order::arrange_scalars(&mut added, to);
    scalar::deduplicate(&mut removed);
    let has_order = match half {
        Half::Changes => differ,
        Half::Deletions => !removed.is_empty(),
    };
    let order = if has_order { to.to_vec() } else { Vec::new() };
    ListPatch { elements: added, removed, order }
}
