//! Schemas for strategic merge patches: merge keys and strategies of the fields of a kind.
//!
//! ```text
//! /openapi/v3/apis/apps/v1 ──openapi──▶ Schema ◀──table── builtin.txt (if the server has none)
//!                                         │
//!                 Shape (a type) ──field──▶ Shape, MergeRule (merge by which key, replace, retain keys)
//! ```
//!
//! Of a document of a megabyte a few kilobytes remain: types that do not lead to a strategy are removed, and unknown
//! fields are merged as JSON: maps by their keys, lists replaced.

mod openapi;
mod prune;
mod schemas;
mod table;

use std::{collections::BTreeMap, sync::LazyLock};

pub use schemas::Schemas;

/// Merge strategies of the kinds of one API server, or of one of its group versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// Kinds that take strategic merge patches, by `group/version` and kind.
    kinds: BTreeMap<(Box<str>, Box<str>), Box<str>>,
    /// By their names in the OpenAPI document.
    types: BTreeMap<Box<str>, Type>,
}

/// Strategies of one type, by field. Maps with arbitrary keys have none: no built-in kind merges their values.
type Type = BTreeMap<Box<str>, FieldStrategy>;

/// Strategy of one field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct FieldStrategy {
    strategy: Strategy,
    retain_keys: bool,
    merge_key: Option<Box<str>>,
    /// Type of the field, or of the elements of a list.
    of: Option<Box<str>>,
}

/// Effect of a patch on a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Strategy {
    /// A map is merged by its keys, a list is replaced.
    #[default]
    Plain,
    /// A list is merged element by element.
    Merge,
    /// A map is replaced.
    Replace,
}

/// Merge rule of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MergeRule<'a> {
    pub(crate) strategy: Strategy,
    /// Set if fields of the map, or of the elements, that the patch does not name are cleared.
    pub(crate) retain_keys: bool,
    /// Key by which elements of a list are identified.
    pub(crate) merge_key: Option<&'a str>,
}

/// Type of a schema, or an unknown type.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    known: Option<(&'a Schema, &'a Type)>,
}

// === impl Schema ===

impl Schema {
    /// Strategies of all built-in kinds, as of the build.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Schema> =
            LazyLock::new(|| table::read(include_str!("schema/builtin.txt")).expect("a test reads it"));
        &BUILTIN
    }

    /// Returns the shape of a kind, if it accepts strategic merge patches.
    pub fn shape(&self, api_version: &str, kind: &str) -> Option<Shape<'_>> {
        let name = self.kinds.get(&(api_version.into(), kind.into()))?;
        Some(self.shape_of(Some(name)))
    }

    /// Writes the table that is shipped.
    pub fn to_table(&self) -> String {
        table::write(self)
    }

    /// Adds the strategies of another group version.
    pub fn extend(&mut self, other: Self) {
        let Self { kinds, types } = other;
        self.kinds.extend(kinds);
        self.types.extend(types);
    }

    fn shape_of(&self, name: Option<&str>) -> Shape<'_> {
        Shape { known: name.and_then(|name| self.types.get(name)).map(|found| (self, found)) }
    }
}

// === impl Shape ===

impl<'a> Shape<'a> {
    /// Unknown type: maps are merged, and lists replaced.
    pub const UNKNOWN: Self = Self { known: None };

    /// Returns the merge rule of a field, and the shape of its value or, for a list, of its elements.
    pub(crate) fn field(self, name: &str) -> (Self, MergeRule<'a>) {
        let field = self.known.and_then(|(schema, this)| Some((schema, this.get(name)?)));
        let Some((schema, field)) = field else { return (Self::UNKNOWN, MergeRule::default()) };
        let FieldStrategy { strategy, retain_keys, merge_key, of } = field;
        let rule =
            MergeRule { strategy: *strategy, retain_keys: *retain_keys, merge_key: merge_key.as_deref() };
        (schema.shape_of(of.as_deref()), rule)
    }
}

#[cfg(test)]
mod tests;
