//! Targets of lists and watches.

use std::sync::Arc;

use spindrift_model::{Resource, ScrubRevision};

use crate::{
    client::request::Get,
    json::path::FieldPath,
    scrub::{ScrubRules, minimal, redact::Redactions, view::View},
};

/// Resource to list or watch, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchTarget {
    /// Resource, from discovery.
    pub resource: Resource,
    /// Namespace; none for all, and for kinds without namespaces.
    pub namespace: Option<Arc<str>>,
    /// Requested part of each object; Secrets are always viewed as metadata only.
    pub view: View,
    /// Redacted paths.
    pub(crate) redacted: Vec<FieldPath>,
    /// Set by the preset `minimal`.
    pub(crate) is_minimal: bool,
}

const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

// === impl WatchTarget ===

impl WatchTarget {
    /// Creates a target with the full view or, for Secrets, the metadata.
    pub fn new(resource: Resource, namespace: Option<Arc<str>>) -> Self {
        let view = View::Full.of(&resource);
        Self { view, resource, namespace, redacted: vec![], is_minimal: false }
    }

    /// Adds the redacted paths of the rules that match the resource by the names known so far.
    #[must_use]
    pub fn redacted(self, redactions: &Redactions) -> Self {
        let is_minimal = redactions.is_minimal();
        // Nothing but the metadata leaves the API server then.
        let view =
            if is_minimal && !minimal::is_shown(&self.resource) { View::MetadataOnly } else { self.view };
        Self { redacted: redactions.paths_of(&self.resource), view, is_minimal, ..self }
    }

    /// Revision of the scrub rules. If it changes, objects that were sent before are stale.
    pub fn scrub_revision(&self) -> ScrubRevision {
        self.scrub_rules().revision()
    }

    pub(crate) fn scrub_rules(&self) -> ScrubRules {
        ScrubRules::redacting(&self.resource, self.view, &self.redacted, self.is_minimal)
    }

    pub(crate) fn watch_request(&self) -> Get {
        Get::new(self.path()).accept(match self.view.of(&self.resource) {
            View::Full => JSON,
            View::MetadataOnly => METADATA,
        })
    }

    pub(crate) fn list_request(&self) -> Get {
        Get::new(self.path()).accept(match self.view.of(&self.resource) {
            View::Full => JSON,
            View::MetadataOnly => METADATA_LIST,
        })
    }

    fn path(&self) -> Vec<&str> {
        let Resource { group, version, plural, .. } = &self.resource;
        let mut path = if group.is_empty() { vec!["api"] } else { vec!["apis", group] };
        path.push(version.as_str());
        if let Some(namespace) = &self.namespace {
            path.extend(["namespaces", namespace]);
        }
        path.push(plural);
        path
    }
}
