//! How the fields of a kind are merged: the few facts of a type that strategic merge patches rest on.
//!
//! ```text
//! /openapi/v3/apis/apps/v1 ──openapi──▶ Schema ◀──table── builtin.txt (where the server does not tell)
//!                                         │
//!                 Shape (a type) ──field──▶ Shape, Rule (merge by which key, replace, retain keys)
//! ```
//!
//! Of a document of a megabyte a few kilobytes remain: types from which no fact can be reached are left out, and
//! whatever is not known is merged as JSON is: maps by their keys, lists replaced.

mod openapi;
mod prune;
mod schemas;
mod table;

use std::{collections::BTreeMap, sync::LazyLock};

pub use schemas::Schemas;

/// The merge facts of the kinds of one API server, or of one of its group versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// Kinds that take strategic merge patches, by `group/version` and kind.
    kinds: BTreeMap<(Box<str>, Box<str>), Box<str>>,
    /// By their names in the OpenAPI document.
    types: BTreeMap<Box<str>, Type>,
}

/// The facts of one type, by field. Maps with keys of any name have none: no built-in kind merges what is in their values.
type Type = BTreeMap<Box<str>, Field>;

/// The facts of one field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Field {
    strategy: Strategy,
    retain_keys: bool,
    merge_key: Option<Box<str>>,
    /// The type of the field, or of the elements of a list.
    of: Option<Box<str>>,
}

/// What happens to a field when it is patched.
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

/// How one field is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rule<'a> {
    pub(crate) strategy: Strategy,
    /// Whether fields of the map, or of the elements, that are not named are cleared.
    pub(crate) retain_keys: bool,
    /// What tells the elements of a list apart.
    pub(crate) merge_key: Option<&'a str>,
}

/// A type of a schema, or one of which nothing is known.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    known: Option<(&'a Schema, &'a Type)>,
}

// === impl Schema ===

impl Schema {
    /// The facts of all kinds of Kubernetes itself, as they were when this was built.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Schema> =
            LazyLock::new(|| table::read(include_str!("schema/builtin.txt")).expect("a test reads it"));
        &BUILTIN
    }

    /// Whether a kind takes strategic merge patches, and if so, its shape.
    pub fn shape(&self, api_version: &str, kind: &str) -> Option<Shape<'_>> {
        let name = self.kinds.get(&(api_version.into(), kind.into()))?;
        Some(self.shape_of(Some(name)))
    }

    /// Writes the facts as the table that is shipped.
    pub fn to_table(&self) -> String {
        table::write(self)
    }

    /// Adds the facts of another group version.
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
    /// A type of which nothing is known: maps are merged, and lists replaced.
    pub const UNKNOWN: Self = Self { known: None };

    /// How a field is merged, and the shape of its value or, if that is a list, of its elements.
    pub(crate) fn field(self, name: &str) -> (Self, Rule<'a>) {
        let field = self.known.and_then(|(schema, this)| Some((schema, this.get(name)?)));
        let Some((schema, field)) = field else { return (Self::UNKNOWN, Rule::default()) };
        let Field { strategy, retain_keys, merge_key, of } = field;
        let rule = Rule { strategy: *strategy, retain_keys: *retain_keys, merge_key: merge_key.as_deref() };
        (schema.shape_of(of.as_deref()), rule)
    }
}

#[cfg(test)]
mod tests;
