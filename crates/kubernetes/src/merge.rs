//! Patches as kubectl computes them, and as the API server applies them.
//!
//! ```text
//! current  ──changes──▶ modified   diff: changed and new fields, without deletions ─────────┐
//! original ──deletions─▶ modified  diff: fields of the last apply that the manifest dropped ┴─▶ overlay ──▶ patch
//! ```
//!
//! Fields of other writers stay, since deletions come only from the last apply. Built-in kinds take strategic merge
//! patches: lists are merged by the keys and strategies of their types ([`Shape`]), with directives for the API server
//! such as `$patch`, `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`. All other kinds take
//! JSON merge patches.
//!
//! A patch must equal kubectl's byte for byte, quirks included; comments mark them.

mod diff;
mod elements;
pub(crate) mod go_json;
mod json;
mod json_patch;
pub(crate) mod last_applied;
pub(crate) mod managed_fields;
mod order;
mod overlay;
mod scalar;
pub(crate) mod schema;

use std::fmt;

use serde_json::{Map, Value};

use overlay::Purpose;
use schema::Shape;

/// JSON object; its keys are sorted, as in JSON that Go writes.
pub type Object = Map<String, Value>;

/// A patch that cannot be computed or applied. The message never quotes values, which may be those of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// An element of a list that is merged by a key does not have that key.
    #[error("an element of a list does not contain its merge key {key:?}")]
    NoMergeKey {
        /// The key that every element must have.
        key: String,
        /// The element.
        element: PatchPart,
    },
    /// Elements of one list have different types, or one is null.
    #[error("the elements of a list are not all of one type")]
    MixedElements,
    /// A list that is merged holds lists.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// A directive is malformed.
    #[error("invalid {directive} in a patch, expected {expected}")]
    BadDirective {
        /// Such as `$patch`.
        directive: String,
        /// The expected value.
        expected: &'static str,
        /// The map or element of a `$patch` that is neither `delete` nor `replace`.
        map: Option<PatchPart>,
    },
    /// The live object, or the one of the last apply, is another object.
    #[error("at least one of apiVersion, kind and name was changed")]
    IdentityChanged,
    /// An operation of a JSON patch does not fit the object.
    #[error("operation {index} of the JSON patch: {problem}")]
    JsonPatch {
        /// Counted from 0.
        index: usize,
        /// The problem.
        problem: &'static str,
    },
}

/// The part of a patch or list that an error is about. `Debug` hides it, since it may be a Secret's value.
#[derive(Clone, PartialEq, Eq)]
pub struct PatchPart(pub Value);

/// Directive that deletes or replaces a map or an element.
const PATCH: &str = "$patch";

/// Directive with the fields of a map that are kept.
const RETAIN_KEYS: &str = "$retainKeys";

/// Directive with the order of the list of the same name.
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Directive with the elements to delete from the list of scalars of the same name.
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// Computes the strategic merge patch from `current` to `modified`: deletes the fields of `original` that `modified`
/// lacks, and keeps those that only other writers have set.
pub fn three_way_strategic(
    original: &Object,
    modified: &Object,
    current: &Object,
    shape: Shape<'_>,
) -> Result<Object, MergeError> {
    let changes = diff::changes(current, modified, shape)?;
    let deletions = diff::deletions(original, modified, shape)?;
    overlay::overlay(deletions, changes, shape, Purpose::JoinPatches)
}

/// Computes the same as a JSON merge patch, for kinds without known merge keys.
pub fn three_way_json(original: &Object, modified: &Object, current: &Object) -> Result<Object, MergeError> {
    json::three_way(original, modified, current)
}

/// Applies a strategic merge patch as the API server does.
pub fn apply_strategic(object: Object, patch: Object, shape: Shape<'_>) -> Result<Object, MergeError> {
    overlay::overlay(object, patch, shape, Purpose::Apply)
}

/// Applies a JSON merge patch as the API server does.
pub fn apply_json_merge(object: Object, patch: Object) -> Object {
    json::overlay(object, patch)
}

/// Applies a JSON patch (RFC 6902) as the API server does.
pub fn apply_json_patch(object: Object, patch: &Value) -> Result<Object, MergeError> {
    json_patch::apply(object, patch)
}

/// Removes nulls, as kubectl does before it creates an object: an update would remove them, too.
pub fn prune_nulls(value: &mut Value) {
    json::prune_nulls(value);
}

/// Counts the levels of a value: a scalar has one.
pub fn depth(value: &Value) -> usize {
    json_patch::depth(value)
}

// === impl PatchPart ===

impl fmt::Debug for PatchPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

// === impl MergeError ===

impl MergeError {
    fn bad_directive(directive: &str, expected: &'static str) -> Self {
        Self::BadDirective { directive: directive.to_owned(), expected, map: None }
    }

    fn unknown_patch_type(map: Value, expected: &'static str) -> Self {
        Self::BadDirective { directive: PATCH.to_owned(), expected, map: Some(PatchPart(map)) }
    }

    fn no_merge_key(key: &str, element: &Value) -> Self {
        Self::NoMergeKey { key: key.to_owned(), element: PatchPart(element.clone()) }
    }
}

/// Returns the key of a directive for a list.
fn parallel(directive: &str, list: &str) -> String {
    format!("{directive}/{list}")
}

#[cfg(test)]
mod tests;
