//! The columns of a kind and the cells of its objects.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    column::{Builtin, Column},
    kinds,
};

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
#[derive(Clone)]
pub struct Printer {
    columns: Vec<Column>,
    cells: &'static [Builtin],
}

// === impl Printer ===

impl Printer {
    /// The printer of a built-in kind; all others show name and age.
    pub fn of(kind: KindRef<'_>) -> Self {
        let cells = kinds::cells(kind);
        Self { columns: cells.iter().map(Builtin::column).collect(), cells }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of an object, one per column: JSON scalars as in a `Table`.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.cells.iter().map(|column| (column.cell)(object, now)).collect()
    }
}
