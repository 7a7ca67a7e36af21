//! The columns of a kind and the cells of its objects.

mod custom;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    column::{Builtin, Column},
    kinds,
};
use custom::CustomCell;

/// Which kind, in any of its versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KindRef<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub kind: &'a str,
}

/// Shows the objects of one kind as rows, as the API server's own tables do.
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
    /// After the name.
    Custom(Vec<CustomCell>),
}

// === impl Printer ===

impl Printer {
    /// The printer of a built-in kind; all others show name and age.
    pub fn of(kind: KindRef<'_>) -> Self {
        Self::builtin(kind).unwrap_or_else(|| Self::with(kinds::CUSTOM))
    }

    /// The printer of a built-in kind, if it is one.
    pub fn builtin(kind: KindRef<'_>) -> Option<Self> {
        kinds::cells(kind).map(Self::with)
    }

    fn with(cells: &'static [Builtin]) -> Self {
        Self { columns: cells.iter().map(Builtin::column).collect(), cells: Cells::Builtin(cells) }
    }

    /// The printer of a custom resource in one of its versions, by the columns that its CustomResourceDefinition adds.
    pub fn custom(definition: &Value, version: &str) -> Self {
        match custom::columns(definition, version) {
            Some((columns, cells)) => Self { columns, cells: Cells::Custom(cells) },
            None => Self::with(kinds::CUSTOM),
        }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of an object, one per column: JSON scalars as in a `Table`, null where there is nothing to show.
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
