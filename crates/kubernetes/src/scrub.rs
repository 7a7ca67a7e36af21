//! What is cut from an object before it is forwarded: `managedFields` always, and for what is watched as metadata
//! only, everything that could repeat the values that were not asked for.
//!
//! Keys are compared as they are meant, not as they are spelled, and each of two equal keys is treated alike, so
//! that no other parser can find in the result what this one has overlooked.

use bytes::Bytes;
use spindrift_model::Resource;

use crate::{
    json::{Fields, Malformed, Writer},
    object::Parts,
    target::View,
};

/// What the objects of one resource are scrubbed by.
#[derive(Debug, Clone)]
pub struct ScrubRules {
    view: View,
    /// As JSON, in quotes.
    kind: String,
    /// As JSON, in quotes.
    api_version: String,
}

/// Written by `kubectl apply`: the whole manifest, a Secret's values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Where Secrets (and ConfigMaps) keep their values.
const VALUES: [&str; 3] = ["data", "stringData", "binaryData"];

/// Scrubs one object: what the rules name is cut, everything else stays as it is, in its order.
pub fn scrub(object: &[u8], rules: &ScrubRules) -> Result<Bytes, Malformed> {
    rules.apply(&Parts::read(object)?)
}

// === impl ScrubRules ===

impl ScrubRules {
    /// The rules for a resource; Secrets are seen as metadata only, whatever is asked for.
    pub fn new(resource: &Resource, view: View) -> Self {
        let Resource { group, version, kind, .. } = resource;
        let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
        Self { view: view.of(resource), kind: quote(kind), api_version: quote(&api_version) }
    }

    pub(crate) fn apply(&self, object: &Parts<'_>) -> Result<Bytes, Malformed> {
        let mut out = Writer::default();
        out.begin_object();
        // The items of a list lack these two; every other reader wants to find them.
        for (name, key, value) in
            [("kind", r#""kind""#, &self.kind), ("apiVersion", r#""apiVersion""#, &self.api_version)]
        {
            if !object.fields.iter().any(|field| field.name == name) {
                out.key(key);
                out.value(value);
            }
        }
        for field in object.fields.iter() {
            match (&*field.name, self.view) {
                ("metadata", _) => {
                    out.key(field.key);
                    self.write_metadata(&object.metadata, &mut out)?;
                    continue;
                }
                (name, View::MetadataOnly) if VALUES.contains(&name) => continue,
                _ => {}
            }
            out.key(field.key);
            out.value(match (&*field.name, self.view) {
                // Instead of PartialObjectMetadata of meta.k8s.io/v1, which is how it was asked for.
                ("kind", View::MetadataOnly) => &self.kind,
                ("apiVersion", View::MetadataOnly) => &self.api_version,
                _ => field.value.get(),
            });
        }
        out.end_object();
        Ok(out.finish().into())
    }

    fn write_metadata<'a>(&self, metadata: &Fields<'a>, out: &mut Writer<'a>) -> Result<(), Malformed> {
        out.begin_object();
        for field in metadata.iter() {
            match (&*field.name, self.view) {
                ("managedFields", _) => {}
                ("annotations", View::MetadataOnly) if field.value.get() != "null" => {
                    let annotations = Fields::of(field.value)?;
                    let only_last_applied = annotations.iter().next().is_some()
                        && annotations.iter().all(|a| a.name == LAST_APPLIED);
                    if only_last_applied {
                        continue;
                    }
                    out.key(field.key);
                    write_annotations(&annotations, out);
                }
                _ => {
                    out.key(field.key);
                    out.value(field.value.get());
                }
            }
        }
        out.end_object();
        Ok(())
    }
}

fn write_annotations<'a>(annotations: &Fields<'a>, out: &mut Writer<'a>) {
    out.begin_object();
    for annotation in annotations.iter().filter(|annotation| annotation.name != LAST_APPLIED) {
        out.key(annotation.key);
        out.value(annotation.value.get());
    }
    out.end_object();
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
