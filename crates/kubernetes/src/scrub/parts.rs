//! Objects parsed as far as their identity needs.

use spindrift_model::ResourceVersion;

use crate::json::{Fields, Malformed, text};

/// Object whose top level and metadata are parsed; it borrows its bytes.
pub(crate) struct Parts<'a> {
    pub(crate) fields: Fields<'a>,
    pub(crate) metadata: Fields<'a>,
}

/// Annotation of the bookmark that ends the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

// === impl Parts ===

impl<'a> Parts<'a> {
    pub(crate) fn read(object: &'a [u8]) -> Result<Self, Malformed> {
        let fields: Fields<'_> = serde_json::from_slice(object)?;
        let metadata = Fields::of(fields.require("metadata")?)?;
        Ok(Self { fields, metadata })
    }

    pub(crate) fn resource_version(&self) -> Result<ResourceVersion, Malformed> {
        Ok(ResourceVersion::from(&*self.metadata.require_text("resourceVersion")?))
    }

    pub(crate) fn ends_initial_events(&self) -> Result<bool, Malformed> {
        // Redacted annotations are null.
        let Some(annotations) = self.metadata.get("annotations")?.filter(|value| value.get() != "null")
        else {
            return Ok(false);
        };
        let Some(marker) = Fields::of(annotations)?.get(INITIAL_EVENTS_END)? else {
            return Ok(false);
        };
        Ok(text(marker)? == "true")
    }
}
