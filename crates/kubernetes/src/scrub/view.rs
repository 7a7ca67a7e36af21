//! Views of objects: whole, or metadata only.

use spindrift_model::Resource;

/// How much of each object is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// The whole object.
    Full,
    /// Its metadata only, so that nothing else ever leaves the API server.
    MetadataOnly,
}

// === impl View ===

impl View {
    /// The view that is really taken of a resource: no Secret is ever read whole.
    pub(crate) fn of(self, resource: &Resource) -> Self {
        if resource.group.is_empty() && &*resource.kind == "Secret" { Self::MetadataOnly } else { self }
    }
}
