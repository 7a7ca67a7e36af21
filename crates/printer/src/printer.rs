//! Columns of a kind and cells of its objects.

mod custom;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    column::{Builtin, Column},
    kinds,
};
use custom::CustomCell;

/// Kind, in any of its versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KindRef<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub kind: &'a str,
}

/// Converts objects of one kind to rows, as the tables of the API server.
///
/// ```
/// # use serde_json::json;
/// # use spindrift_printer::{KindRef, Printer};
/// let printer = Printer::of(KindRef { group: "", kind: "ConfigMap" });
/// let map = json!({ "metadata": { "name": "shop", "creationTimestamp": "2026-11-16T01:00:00Z" }, "data": { "a": "1" } });
/// let now = "2026-11-16T01:05:10Z".parse().unwrap();
/// assert_eq!(printer.cells(&map, now), [json!("shop"), json!(1), json!("5m10s")]);
/// ```
#[derive(Debug, Clone)]
pub struct Printer {
    columns: Vec<Column>,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    Builtin(&'static [Builtin]),
    /// Columns after the name.
    Custom(Vec<CustomCell>),
}

// === impl Printer ===

impl Printer {
    /// Printer of a built-in kind; all others have name and age.
    pub fn of(kind: KindRef<'_>) -> Self {
        Self::builtin(kind).unwrap_or_else(|| Self::with(kinds::CUSTOM))
    }

    /// Printer of a built-in kind, or `None` for other kinds.
    pub fn builtin(kind: KindRef<'_>) -> Option<Self> {
        kinds::cells(kind).map(Self::with)
    }

    fn with(cells: &'static [Builtin]) -> Self {
        Self { columns: cells.iter().map(Builtin::column).collect(), cells: Cells::Builtin(cells) }
    }

    /// Printer of a custom resource in one of its versions, with the columns of its CustomResourceDefinition.
    pub fn custom(definition: &Value, version: &str) -> Self {
        match custom::columns(definition, version) {
            Some((columns, cells)) => Self { columns, cells: Cells::Custom(cells) },
            None => Self::with(kinds::CUSTOM),
        }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Cells of an object, one for each column: JSON scalars as in a `Table`, null for an empty cell.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.cells {
            Cells::Builtin(cells) => cells.iter().map(|column| (column.cell)(object, now)).collect(),
            Cells::Custom(cells) => {
                let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
                std::iter::once(name).chain(cells.iter().map(|cell| cell.show(object, now))).collect()
            }
        }
    }
}
