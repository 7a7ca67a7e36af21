//! Views of objects: whole, or metadata only.

use spindrift_model::Resource;

/// Part of each object that is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// The whole object.
    Full,
    /// The metadata only, so that nothing else leaves the API server.
    MetadataOnly,
}

// === impl View ===

impl View {
    /// Returns the view for a resource: Secrets are never read whole.
    pub(crate) fn of(self, resource: &Resource) -> Self {
        if resource.group.is_empty() && &*resource.kind == "Secret" { Self::MetadataOnly } else { self }
    }
}
