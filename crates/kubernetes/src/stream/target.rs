//! What is listed or watched, and how much of each object.

use std::sync::Arc;

use spindrift_model::{Resource, ScrubRevision};

use crate::{
    client::request::Get,
    json::path::Path,
    scrub::{ScrubRules, redact::Redactions, view::View},
};

/// A resource, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchTarget {
    /// The resource, as discovery showed it.
    pub resource: Resource,
    /// The one namespace that is watched, or none for all (and for kinds without namespaces).
    pub namespace: Option<Arc<str>>,
    /// How much of each object; Secrets are seen as metadata only, whatever this says.
    pub view: View,
    /// What is kept back of each object.
    pub(crate) redacted: Vec<Path>,
}

const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

// === impl WatchTarget ===

impl WatchTarget {
    /// The target with as much of each object as may be seen: all of it, or for Secrets the metadata.
    pub fn new(resource: Resource, namespace: Option<Arc<str>>) -> Self {
        Self { view: View::Full.of(&resource), resource, namespace, redacted: vec![] }
    }

    /// The same target, with less of each object where rules name its kind, as far as they are known to now.
    #[must_use]
    pub fn redacted(self, redactions: &Redactions) -> Self {
        Self { redacted: redactions.paths_of(&self.resource), ..self }
    }

    /// What changes when more or less is cut from objects of this resource: what was sent before is stale then.
    pub fn scrub_revision(&self) -> ScrubRevision {
        self.scrub_rules().revision()
    }

    pub(crate) fn scrub_rules(&self) -> ScrubRules {
        ScrubRules::redacting(&self.resource, self.view, self.redacted.clone())
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
