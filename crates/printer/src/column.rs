//! Column of a table, as in `metav1.TableColumnDefinition`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::{age::since, look::Look};

/// Definition of a column; serializes as in a `Table`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name as the API server sends it; kubectl prints it in capitals.
    pub name: Cow<'static, str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub r#type: Cow<'static, str>,
    /// `name` for the column with the name of the object.
    pub format: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// Columns with priority 0 are always shown, others only with `-o wide`.
    pub priority: i32,
}

/// Function that computes a cell of a built-in kind.
pub(crate) type CellOf = fn(&Value, Timestamp) -> Value;

/// Column of a built-in kind.
#[derive(Debug)]
pub(crate) struct Builtin {
    name: &'static str,
    r#type: &'static str,
    format: &'static str,
    priority: i32,
    pub(crate) cell: CellOf,
}

/// Name of the object.
pub(crate) const NAME: Builtin = named(|object, _| object.text("/metadata/name").into());

/// Age of the object.
pub(crate) const AGE: Builtin =
    text("Age", |object, now| since(now, object.text("/metadata/creationTimestamp")).into());

/// Creation time of the object, for built-in kinds without columns in the API server.
pub(crate) const CREATED_AT: Builtin = Builtin {
    r#type: "date",
    ..text("Created At", |object, _| object.text("/metadata/creationTimestamp").into())
};

/// Column of the name with a suffix.
pub(crate) const fn named(cell: CellOf) -> Builtin {
    Builtin { format: "name", ..text("Name", cell) }
}

pub(crate) const fn text(name: &'static str, cell: CellOf) -> Builtin {
    Builtin { name, r#type: "string", format: "", priority: 0, cell }
}

pub(crate) const fn integer(name: &'static str, cell: CellOf) -> Builtin {
    Builtin { r#type: "integer", ..text(name, cell) }
}

pub(crate) const fn boolean(name: &'static str, cell: CellOf) -> Builtin {
    Builtin { r#type: "boolean", ..text(name, cell) }
}

/// Column that is shown only with `-o wide`.
pub(crate) const fn wide(name: &'static str, cell: CellOf) -> Builtin {
    Builtin { priority: 1, ..text(name, cell) }
}

// === impl Builtin ===

impl Builtin {
    pub(crate) const fn with_priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    pub(crate) const fn with_type(self, r#type: &'static str) -> Self {
        Self { r#type, ..self }
    }

    pub(crate) const fn with_format(self, format: &'static str) -> Self {
        Self { format, ..self }
    }

    pub(crate) fn column(&self) -> Column {
        Column {
            name: self.name.into(),
            r#type: self.r#type.into(),
            format: self.format.into(),
            description: "".into(),
            priority: self.priority,
        }
    }
}
