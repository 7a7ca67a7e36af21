//! Tables, as `kubectl get` asks for: columns of a kind and a row per object.

use serde_json::{Value, json};

use super::request::Call;
use super::respond::metadata_only;
use crate::catalogue::Resource;
use crate::object;
use crate::status::{Cause, Status};

/// What a row carries beside its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

// === impl Include ===

impl Include {
    pub(crate) fn parse(call: &Call) -> Result<Self, Status> {
        match call.query.get("includeObject") {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => {
                let known = ["Metadata", "Object", "None"];
                let cause = Cause::unsupported("includeObject", &other.into(), &known);
                Err(Status::invalid_options("TableOptions", &[cause]))
            }
        }
    }
}

/// The definitions of a kind's columns.
pub(crate) fn columns(resource: &Resource) -> Value {
    let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
    let mut columns = vec![column("Name", "string", "name", "Name must be unique within a namespace.", 0)];
    match &resource.custom {
        Some(custom) if !custom.columns.is_empty() => columns.extend(
            custom.columns.iter().map(|c| column(&c.name, &c.kind, &c.format, &c.description, c.priority)),
        ),
        _ => columns.push(column("Age", "date", "", "When the object was created.", 0)),
    }
    Value::Array(columns)
}

/// One object as a row.
pub(crate) fn row(resource: &Resource, object: &Value, include: Include) -> Value {
    let mut cells: Vec<Value> = vec![object::name(object).into()];
    let created = || object.pointer("/metadata/creationTimestamp").cloned().unwrap_or_default();
    match &resource.custom {
        Some(custom) if !custom.columns.is_empty() => cells.extend(custom.columns.iter().map(|column| {
            let pointer = column.json_path.replace(['.', '['], "/").replace([']', '\''], "");
            object.pointer(&pointer).cloned().unwrap_or_default()
        })),
        _ => cells.push(created()),
    }
    match include {
        Include::None => json!({"cells": cells}),
        Include::Metadata => json!({"cells": cells, "object": metadata_only(object)}),
        Include::Object => json!({"cells": cells, "object": object}),
    }
}

/// A table of one object.
pub(crate) fn of_object(resource: &Resource, object: &Value, include: Include) -> Value {
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": object::resource_version(object)},
        "columnDefinitions": columns(resource), "rows": [row(resource, object, include)],
    })
}

/// A table that only says how far a watch is.
pub(crate) fn of_bookmark(object: &Value) -> Value {
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": object::resource_version(object)},
        "columnDefinitions": Value::Null,
        "rows": [{"cells": Value::Null, "object": object}],
    })
}
