//! What is cut from an object before it is forwarded: `managedFields` always; what configuration redacts; and for
//! what is watched as metadata only, everything that could repeat the values that were not asked for.
//!
//! Keys are compared as they are meant, not as they are spelled, and each of two equal keys is treated alike, so
//! that no other parser can find in the result what this one has overlooked.

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
        filter::{Item, Sieve, Sifted},
        mask::{Fate, Mesh},
        path::{Path, Step},
    },
    scrub::{
        parts::{INITIAL_EVENTS_END, Parts},
        redact::Redactions,
        view::View,
    },
};

/// What the objects of one resource are scrubbed by.
#[derive(Debug, Clone)]
pub struct ScrubRules {
    view: View,
    /// As JSON, in quotes.
    kind: String,
    /// As JSON, in quotes.
    api_version: String,
    cuts: Vec<(Path, Fate)>,
    revision: ScrubRevision,
}

/// Written by `kubectl apply`: the whole manifest, a Secret's values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Where Secrets (and ConfigMaps) keep their values.
const VALUES: [&str; 3] = ["data", "stringData", "binaryData"];

/// Of what is cut without configuration. To be changed with it, so that hubs are sent again what they have.
const REVISION: u32 = 1;

/// The longest object: etcd takes 1.5 MiB by default, and some operators allow it ten times that.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// Scrubs one object: what the rules name is cut, everything else stays as it is, in its order.
pub fn scrub(object: &[u8], rules: &ScrubRules) -> Result<Bytes, Malformed> {
    let mut sieve = Sieve::new(rules.mesh(&[]), LONGEST);
    let (read, sifted) = sieve.read(object)?;
    if sifted != Some(Sifted::Item) {
        return Err(Malformed::Truncated);
    }
    // Nothing but white space may follow.
    sieve.read(&object[read..])?;
    match sieve.item() {
        Item::Whole(scrubbed) => rules.complete(scrubbed, &Parts::read(scrubbed)?),
        Item::TooLong => Err(Malformed::ObjectTooLong),
    }
}

// === impl ScrubRules ===

impl ScrubRules {
    /// The rules for a resource; Secrets are seen as metadata only, whatever is asked for.
    pub fn new(resource: &Resource, view: View, redactions: &Redactions) -> Self {
        Self::redacting(resource, view, redactions.paths_of(resource))
    }

    pub(crate) fn redacting(resource: &Resource, view: View, redacted: Vec<Path>) -> Self {
        let Resource { group, version, kind, .. } = resource;
        let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
        let view = view.of(resource);
        Self {
            view,
            kind: quote(kind),
            api_version: quote(&api_version),
            revision: revision(&redacted),
            cuts: cuts(view, redacted),
        }
    }

    /// Differs where something else is cut.
    pub fn revision(&self) -> ScrubRevision {
        self.revision
    }

    /// The rules for objects that stand at this place of a document.
    pub(crate) fn mesh(&self, place: &[Step]) -> Mesh {
        let mut rules = vec![(Path::of_names([]).within(place), Fate::Item)];
        rules.extend(self.cuts.iter().map(|(path, fate)| (path.within(place), *fate)));
        Mesh::new(&rules)
    }

    /// Whether something is cut that nobody may see, so that what held it has to be wiped.
    pub(crate) fn keep_secrets(&self) -> bool {
        self.view == View::MetadataOnly || self.cuts.iter().any(|(_, fate)| *fate == Fate::Redact)
    }

    /// Makes the object's body from what passed, in an allocation of exactly its size.
    pub(crate) fn complete(&self, scrubbed: &[u8], parts: &Parts<'_>) -> Result<Bytes, Malformed> {
        if self.view == View::MetadataOnly {
            refuse_odd_annotations(&parts.metadata)?;
        }
        // The items of a list lack these two; every other reader wants to find them.
        let mut head = String::from("{");
        for (name, value) in [("kind", &self.kind), ("apiVersion", &self.api_version)] {
            if !parts.fields.iter().any(|field| field.name == name) {
                head.extend(["\"", name, "\":", value, ","]);
            }
        }
        // Every object has metadata, so something follows; and it begins with a brace.
        Ok([head.as_bytes(), scrubbed.get(1..).unwrap_or_default()].concat().into())
    }
}

/// What is cut, and what must not be.
fn cuts(view: View, redacted: Vec<Path>) -> Vec<(Path, Fate)> {
    let mut cuts = vec![(Path::of_names(["metadata", "managedFields"]), Fate::Cut)];
    if view == View::MetadataOnly {
        // Instead of PartialObjectMetadata of meta.k8s.io/v1, which is how it was asked for.
        cuts.extend(["kind", "apiVersion"].map(|name| (Path::of_names([name]), Fate::Cut)));
        cuts.extend(VALUES.map(|name| (Path::of_names([name]), Fate::Cut)));
    }
    if view == View::MetadataOnly || !redacted.is_empty() {
        let annotation = |name| Path::of_names(["metadata", "annotations", name]);
        cuts.push((Path::of_names(["metadata", "annotations"]), Fate::Thin));
        cuts.push((annotation(LAST_APPLIED), Fate::Cut));
        // The protocol's own word, not the object's.
        cuts.push((annotation(INITIAL_EVENTS_END), Fate::Pass));
    }
    cuts.extend(redacted.into_iter().map(|path| (path, Fate::Redact)));
    cuts
}

/// Annotations in which nothing could be looked up.
fn refuse_odd_annotations(metadata: &Fields<'_>) -> Result<(), Malformed> {
    for field in metadata.iter().filter(|field| field.name == "annotations" && field.value.get() != "null") {
        Fields::of(field.value)?;
    }
    Ok(())
}

/// FNV-1a over the paths: the same for the same rules, in every release and on every machine.
fn revision(redacted: &[Path]) -> ScrubRevision {
    let mut hash = 0x811c_9dc5_u32 ^ REVISION;
    for byte in redacted.iter().flat_map(|path| format!("{path}\n").into_bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    ScrubRevision(if redacted.is_empty() { REVISION } else { hash })
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
