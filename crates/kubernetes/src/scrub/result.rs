//! Scrubbing of the responses to operations.

use bytes::Bytes;
use serde_json::value::RawValue;
use spindrift_model::Resource;

use crate::{
    json::{Fields, Malformed, text},
    scrub::{ScrubRules, redact::Redactions, scrub, view::View, wipe::wipe},
};

/// Scrubs the JSON of a response: an object, a list, a list of lists, or a table with its objects.
///
/// Objects are scrubbed as [`scrub`] does for watches: Secrets lose their values and all copies of them, others their
/// managed fields and redacted values. The memory of the response is wiped unless others hold it.
pub fn scrub_result(response: Bytes, redactions: &Redactions) -> Result<Bytes, Malformed> {
    let mut out = Vec::with_capacity(response.len());
    let scrubbed = serde_json::from_slice(&response)
        .map_err(Malformed::from)
        .and_then(|value| write_value(value, None, redactions, &mut out));
    wipe(response);
    scrubbed.map(|()| out.into())
}

/// Type of the objects of a list, which lack it themselves.
#[derive(Clone, Copy)]
struct ListType<'a> {
    kind: &'a str,
    api_version: &'a str,
}

fn write_value(
    value: &RawValue,
    list_type: Option<ListType<'_>>,
    redactions: &Redactions,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    if !value.get().starts_with('{') {
        write_raw(value, out);
        return Ok(());
    }
    let fields = Fields::of(value)?;
    let own = |name| fields.get(name)?.filter(|value| value.get() != "null").map(text).transpose();
    let (kind, api_version) = (own("kind")?, own("apiVersion")?);
    let kind = kind.as_deref().or(list_type.map(|list_type| list_type.kind)).unwrap_or_default();
    let api_version =
        api_version.as_deref().or(list_type.map(|list_type| list_type.api_version)).unwrap_or_default();

    if kind == "Table" {
        return write_fields(&fields, "rows", out, |rows, out| {
            write_elements(rows, out, |row, out| {
                write_fields(&Fields::of(row)?, "object", out, |object, out| {
                    write_value(object, None, redactions, out)
                })
            })
        });
    }
    if let Some(kind) = kind.strip_suffix("List")
        && fields.iter().any(|field| field.name == "items")
    {
        let list_type = (!kind.is_empty()).then_some(ListType { kind, api_version });
        return write_fields(&fields, "items", out, |items, out| {
            write_elements(items, out, |item, out| write_value(item, list_type, redactions, out))
        });
    }
    // Responses that are no objects of a cluster, such as access reviews, contain no data of one.
    let is_object = fields.iter().any(|field| field.name == "metadata") && kind != "Status";
    if is_object || kind == "Secret" {
        let rules = rules_of(kind, api_version, redactions);
        out.extend_from_slice(&scrub(value.get().as_bytes(), &rules)?);
        return Ok(());
    }
    write_raw(value, out);
    Ok(())
}

/// Rules for an object of which only kind and version are known.
fn rules_of(kind: &str, api_version: &str, redactions: &Redactions) -> ScrubRules {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = Resource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural(kind).into(),
        namespaced: true,
    };
    // It may be the metadata of a Secret.
    let view = if kind == "PartialObjectMetadata" { View::MetadataOnly } else { View::Full };
    ScrubRules::new(&resource, view, redactions)
}

/// Guesses the plural as Kubernetes does, for rules that name a kind by its plural.
fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if singular.ends_with(['s', 'x', 'z']) || singular.ends_with("ch") || singular.ends_with("sh") => {
            format!("{singular}es")
        }
        _ => format!("{singular}s"),
    }
}

fn write_raw(value: &RawValue, out: &mut Vec<u8>) {
    out.extend_from_slice(value.get().as_bytes());
}

/// Writes an object: fields of one name by `write`, the others unchanged.
fn write_fields(
    fields: &Fields<'_>,
    name: &str,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&RawValue, &mut Vec<u8>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    out.push(b'{');
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(field.key.as_bytes());
        out.push(b':');
        if field.name == name {
            write(field.value, out)?;
        } else {
            write_raw(field.value, out);
        }
    }
    out.push(b'}');
    Ok(())
}

/// Writes the elements of an array by `write`; null stays null.
fn write_elements(
    value: &RawValue,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&RawValue, &mut Vec<u8>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    if value.get() == "null" {
        write_raw(value, out);
        return Ok(());
    }
    let elements: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(Malformed::from)?;
    out.push(b'[');
    for (i, element) in elements.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(element, out)?;
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
mod tests;
