//! Tables for `kubectl get`: columns of a kind and a row per object.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};
use spindrift_printer::{KindRef, Printer};

use super::request::ApiRequest;
use super::respond::metadata_only;
use crate::catalogue::Resource;
use crate::object;
use crate::status::{Cause, Status};

/// Object data in a row, beside its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

// === impl IncludeObject ===

impl IncludeObject {
    pub(crate) fn parse(call: &ApiRequest) -> Result<Self, Status> {
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

/// Column definitions of a kind.
pub(crate) fn columns(resource: &Resource) -> Value {
    let printer = printer(resource);
    let columns = printer.columns().iter().map(|column| {
        json!({
            "name": column.name, "type": column.r#type, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    columns.collect()
}

/// Printer of a resource; a custom resource's was built with its definition.
pub(crate) fn printer(resource: &Resource) -> Cow<'_, Printer> {
    match &resource.custom {
        Some(custom) => Cow::Borrowed(&custom.printer),
        None => Cow::Owned(Printer::of(KindRef { group: &resource.group, kind: &resource.kind })),
    }
}

/// Row of one object.
pub(crate) fn row(printer: &Printer, object: &Value, include: IncludeObject) -> Value {
    let cells = printer.cells(object, Timestamp::now());
    match include {
        IncludeObject::None => json!({"cells": cells}),
        IncludeObject::Metadata => json!({"cells": cells, "object": metadata_only(object)}),
        IncludeObject::Object => json!({"cells": cells, "object": object}),
    }
}

/// Table of one object.
pub(crate) fn of_object(resource: &Resource, object: &Value, include: IncludeObject) -> Value {
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": object::resource_version(object)},
        "columnDefinitions": columns(resource), "rows": [row(&printer(resource), object, include)],
    })
}
