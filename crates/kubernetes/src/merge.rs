//! What kubectl computes before it sends a manifest: the patch that brings a live object to what is wanted.
//!
//! ```text
//! current  ──changes──▶ modified   diff: what is other or new, deletions left out ─────────┐
//! original ──deletions─▶ modified  diff: what was applied before and is not wanted anymore ┴─▶ overlay ──▶ patch
//! ```
//!
//! What others set stays, since deletions come only from what was applied before. Built-in kinds are merged strategically:
//! lists by the keys and strategies of their types ([`Shape`]), told to the API server by directives such as `$patch`,
//! `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`. All others take JSON merge patches.
//!
//! A patch must be kubectl's to the letter, oddities included: they are commented where they stand.

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

/// A JSON object; its keys are sorted, as Go's are when it writes JSON.
pub type Object = Map<String, Value>;

/// Why no patch can be computed, or be applied here. It never quotes values, which may be a Secret's.
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
    /// A directive is not written as directives are.
    #[error("{directive} in a patch is not as it must be: {expected}")]
    BadDirective {
        /// Such as `$patch`.
        directive: String,
        /// What it must be.
        expected: &'static str,
        /// The map or element of a `$patch` that is neither `delete` nor `replace`.
        map: Option<PatchPart>,
    },
    /// The object in the cluster, or that which was applied before, is another one.
    #[error("at least one of apiVersion, kind and name was changed")]
    IdentityChanged,
    /// An operation of a JSON patch does not fit the object.
    #[error("operation {index} of the JSON patch: {problem}")]
    JsonPatch {
        /// Counted from 0.
        index: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The part of a patch or list that an error is about. `Debug` hides it, since it may be a Secret's value.
#[derive(Clone, PartialEq, Eq)]
pub struct PatchPart(pub Value);

/// Says whether a map or an element is deleted, replaced or merged.
const PATCH: &str = "$patch";

/// Lists the fields of a map that are not cleared.
const RETAIN_KEYS: &str = "$retainKeys";

/// Tells the order of the list of the same name.
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Lists what goes from the list of scalars of the same name.
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// The strategic merge patch that brings `current` to `modified`: what is in `original` and not in `modified` goes, and
/// what only others have set stays.
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

/// The same as a JSON merge patch, for kinds of which no merge keys are known.
pub fn three_way_json(original: &Object, modified: &Object, current: &Object) -> Result<Object, MergeError> {
    json::three_way(original, modified, current)
}

/// What the API server makes of an object and a strategic merge patch.
pub fn apply_strategic(object: Object, patch: Object, shape: Shape<'_>) -> Result<Object, MergeError> {
    overlay::overlay(object, patch, shape, Purpose::Apply)
}

/// What the API server makes of an object and a JSON merge patch.
pub fn apply_json_merge(object: Object, patch: Object) -> Object {
    json::overlay(object, patch)
}

/// What the API server makes of an object and a JSON patch (RFC 6902).
pub fn apply_json_patch(object: Object, patch: &Value) -> Result<Object, MergeError> {
    json_patch::apply(object, patch)
}

/// Leaves out nulls, as kubectl does before it creates an object: an update would leave them out, too.
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

/// The key under which a directive speaks about a list.
fn parallel(directive: &str, list: &str) -> String {
    format!("{directive}/{list}")
}

#[cfg(test)]
mod tests;
