//! What operations are answered: whatever may not leave the cluster is cut from that too.

use bytes::Bytes;
use serde_json::value::RawValue;
use spindrift_model::Resource;

use crate::{
    json::{Fields, Malformed, text},
    scrub::{ScrubRules, redact::Redactions, scrub, view::View, wipe::wipe},
};

/// Scrubs JSON that an API server answered: an object, a list, a list of lists, or a table with its objects.
///
/// Objects lose what [`scrub`] cuts from what is watched: Secrets their values and what repeats them, others their
/// managed fields and what is redacted. The memory of the answer is wiped if nobody else holds it.
pub fn scrub_result(answer: Bytes, redactions: &Redactions) -> Result<Bytes, Malformed> {
    let mut out = Vec::with_capacity(answer.len());
    let scrubbed = serde_json::from_slice(&answer)
        .map_err(Malformed::from)
        .and_then(|value| write_value(value, None, redactions, &mut out));
    wipe(answer);
    scrubbed.map(|()| out.into())
}

/// What the objects of a list or table are, where they do not say it themselves.
#[derive(Clone, Copy)]
struct Family<'a> {
    kind: &'a str,
    api_version: &'a str,
}

fn write_value(
    value: &RawValue,
    family: Option<Family<'_>>,
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
    let kind = kind.as_deref().or(family.map(|family| family.kind)).unwrap_or_default();
    let api_version = api_version.as_deref().or(family.map(|family| family.api_version)).unwrap_or_default();

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
        let family = (!kind.is_empty()).then_some(Family { kind, api_version });
        return write_fields(&fields, "items", out, |items, out| {
            write_elements(items, out, |item, out| write_value(item, family, redactions, out))
        });
    }
    // Answers that are no objects of a cluster, such as reviews of access, hold nothing of one.
    let is_object = fields.iter().any(|field| field.name == "metadata") && kind != "Status";
    if is_object || kind == "Secret" {
        let rules = rules_of(kind, api_version, redactions);
        out.extend_from_slice(&scrub(value.get().as_bytes(), &rules)?);
        return Ok(());
    }
    write_raw(value, out);
    Ok(())
}

/// The rules for an object of which only its own words are known.
fn rules_of(kind: &str, api_version: &str, redactions: &Redactions) -> ScrubRules {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = Resource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural(kind).into(),
        namespaced: true,
    };
    // Nobody can tell whether that is of a Secret.
    let view = if kind == "PartialObjectMetadata" { View::MetadataOnly } else { View::Full };
    ScrubRules::new(&resource, view, redactions)
}

/// As Kubernetes itself guesses it, for rules that name a kind by its plural.
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

/// Writes an object: the fields of one name by other means, the rest as they are.
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

/// Writes an array; what is none, as it is.
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
