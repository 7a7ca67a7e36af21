//! A column of a table, as `metav1.TableColumnDefinition` has it.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::{age::since, look::Look};

/// What a column is called and holds; serializes as in a `Table`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// As the API server writes it; kubectl shows it in capitals.
    pub name: Cow<'static, str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub r#type: Cow<'static, str>,
    /// `name` for the column that names the object.
    pub format: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
}

/// How a cell of a built-in kind is made.
pub(crate) type CellOf = fn(&Value, Timestamp) -> Value;

/// A column of a built-in kind.
#[derive(Debug)]
pub(crate) struct Builtin {
    name: &'static str,
    r#type: &'static str,
    format: &'static str,
    priority: i32,
    pub(crate) cell: CellOf,
}

/// The object's name.
pub(crate) const NAME: Builtin = named(|object, _| object.text("/metadata/name").into());

/// How long ago the object was created.
pub(crate) const AGE: Builtin =
    text("Age", |object, now| since(now, object.text("/metadata/creationTimestamp")).into());

/// When the object was created, for built-in kinds that the API server has no columns for.
pub(crate) const CREATED_AT: Builtin = Builtin {
    r#type: "date",
    ..text("Created At", |object, _| object.text("/metadata/creationTimestamp").into())
};

/// A name with something added.
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

/// A column that only `-o wide` shows.
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
