//! Scrubbing of objects before they are forwarded: cuts `managedFields` always, redacts the configured paths, and, of
//! objects that are watched as metadata only, cuts everything that could repeat their values.
//!
//! Keys are compared without their escapes, and repeated keys are all treated alike, so that no other parser can find in
//! the result a value that this one missed.

pub(crate) mod minimal;
pub(crate) mod parts;
pub(crate) mod redact;
pub(crate) mod result;
pub(crate) mod view;
pub(crate) mod wipe;

use bytes::Bytes;
use spindrift_model::{Resource, ScrubRevision};

use crate::{
    json::{
        Fields, Malformed,
        filter::{FilterOutput, Item, JsonFilter},
        mask::{FieldAction, FieldMask},
        path::{FieldPath, Step},
    },
    scrub::{
        parts::{INITIAL_EVENTS_END, Parts},
        redact::Redactions,
        view::View,
    },
};

/// Rules by which the objects of one resource are scrubbed.
#[derive(Debug, Clone)]
pub struct ScrubRules {
    view: View,
    /// As JSON, in quotes.
    kind: String,
    /// As JSON, in quotes.
    api_version: String,
    cuts: Vec<(FieldPath, FieldAction)>,
    revision: ScrubRevision,
}

/// Annotation of `kubectl apply`: the whole manifest, with the values of a Secret.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Fields of Secrets (and ConfigMaps) with their values.
const VALUES: [&str; 3] = ["data", "stringData", "binaryData"];

/// Revision of the cuts that need no configuration. A change of them must change it, so that hubs receive the objects
/// again.
const REVISION: u32 = 1;

/// Longest object: etcd accepts 1.5 MiB by default, and some operators allow it ten times that.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// Scrubs one object: cuts or redacts the values that the rules name, and copies everything else byte by byte.
pub fn scrub(object: &[u8], rules: &ScrubRules) -> Result<Bytes, Malformed> {
    let mut filter = JsonFilter::new(rules.mask(&[]), LONGEST);
    let (read, output) = filter.read(object)?;
    if output != Some(FilterOutput::Item) {
        return Err(Malformed::Truncated);
    }
    // Only white space may follow.
    filter.read(&object[read..])?;
    match filter.item() {
        Item::Whole(scrubbed) => rules.complete(scrubbed, &Parts::read(scrubbed)?),
        Item::TooLong => Err(Malformed::ObjectTooLong),
    }
}

// === impl ScrubRules ===

impl ScrubRules {
    /// Rules for a resource; Secrets are always viewed as metadata only.
    pub fn new(resource: &Resource, view: View, redactions: &Redactions) -> Self {
        Self::redacting(resource, view, &redactions.paths_of(resource), redactions.is_minimal())
    }

    pub(crate) fn redacting(
        resource: &Resource,
        view: View,
        redacted: &[FieldPath],
        is_minimal: bool,
    ) -> Self {
        let Resource { group, version, kind, .. } = resource;
        let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
        let preset = if is_minimal { minimal::rules(resource) } else { Vec::new() };
        let view = if is_minimal && !minimal::is_shown(resource) { View::MetadataOnly } else { view };
        let view = view.of(resource);
        let mut cuts_and_exceptions = cuts(view, redacted);
        let revision = revision(redacted, &preset);
        cuts_and_exceptions.extend(preset);
        Self {
            view,
            kind: quote(kind),
            api_version: quote(&api_version),
            revision,
            cuts: cuts_and_exceptions,
        }
    }

    /// Revision, which differs if other values are cut.
    pub fn revision(&self) -> ScrubRevision {
        self.revision
    }

    /// Field mask for objects at this path of a document.
    pub(crate) fn mask(&self, outer: &[Step]) -> FieldMask {
        let mut rules = vec![(FieldPath::of_names([]).within(outer), FieldAction::Item)];
        rules.extend(self.cuts.iter().map(|(path, action)| (path.within(outer), *action)));
        FieldMask::new(&rules)
    }

    /// Whether the rules cut secrets, so that the memory that held them must be wiped.
    pub(crate) fn cuts_secrets(&self) -> bool {
        self.view == View::MetadataOnly || self.cuts.iter().any(|(_, action)| *action == FieldAction::Redact)
    }

    /// Completes the body of a scrubbed object, in an allocation of exactly its size.
    pub(crate) fn complete(&self, scrubbed: &[u8], parts: &Parts<'_>) -> Result<Bytes, Malformed> {
        if self.view == View::MetadataOnly {
            refuse_odd_annotations(&parts.metadata)?;
        }
        // The items of a list lack these two fields; readers expect them.
        let mut head = String::from("{");
        for (name, value) in [("kind", &self.kind), ("apiVersion", &self.api_version)] {
            if !parts.fields.iter().any(|field| field.name == name) {
                head.extend(["\"", name, "\":", value, ","]);
            }
        }
        // An object begins with a brace, and has metadata, so that no comma is left at the end.
        Ok([head.as_bytes(), scrubbed.get(1..).unwrap_or_default()].concat().into())
    }
}

/// Returns the cuts, and the exceptions from them.
fn cuts(view: View, redacted: &[FieldPath]) -> Vec<(FieldPath, FieldAction)> {
    let mut cuts = vec![(FieldPath::of_names(["metadata", "managedFields"]), FieldAction::Cut)];
    if view == View::MetadataOnly {
        // They are PartialObjectMetadata and meta.k8s.io/v1, as requested; `complete` adds those of the resource.
        cuts.extend(["kind", "apiVersion"].map(|name| (FieldPath::of_names([name]), FieldAction::Cut)));
        cuts.extend(VALUES.map(|name| (FieldPath::of_names([name]), FieldAction::Cut)));
    }
    // The preset cuts annotations itself; a Keep of this one would not harm it.
    if view == View::MetadataOnly || !redacted.is_empty() {
        let annotation = |name| FieldPath::of_names(["metadata", "annotations", name]);
        cuts.push((FieldPath::of_names(["metadata", "annotations"]), FieldAction::DropIfEmptied));
        cuts.push((annotation(LAST_APPLIED), FieldAction::Cut));
        // This annotation belongs to the watch protocol, not to the object.
        cuts.push((annotation(INITIAL_EVENTS_END), FieldAction::Keep));
    }
    cuts.extend(redacted.iter().map(|path| (path.clone(), FieldAction::Redact)));
    cuts
}

/// Refuses annotations that are not an object.
fn refuse_odd_annotations(metadata: &Fields<'_>) -> Result<(), Malformed> {
    for field in metadata.iter().filter(|field| field.name == "annotations" && field.value.get() != "null") {
        Fields::of(field.value)?;
    }
    Ok(())
}

/// FNV-1a of the paths: the same for the same rules, in every release and on every machine.
fn revision(redacted: &[FieldPath], preset: &[(FieldPath, FieldAction)]) -> ScrubRevision {
    let mut hash = 0x811c_9dc5_u32 ^ REVISION;
    let redacted_paths = redacted.iter().map(|path| format!("{path}\n"));
    let preset_rules = preset.iter().map(|(path, action)| format!("{path} {action:?}\n"));
    for byte in redacted_paths.chain(preset_rules).flat_map(String::into_bytes) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    ScrubRevision(if redacted.is_empty() && preset.is_empty() { REVISION } else { hash })
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
