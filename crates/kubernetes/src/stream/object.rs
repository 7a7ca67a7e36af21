//! What identifies an object, read without reading the rest of it.

use std::sync::Arc;

use bytes::Bytes;
use spindrift_model::{ResourceVersion, Uid};

use crate::{
    json::{Fields, Malformed, text},
    scrub::ScrubRules,
};

/// An object as the API server sent it, scrubbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawObject {
    /// Its namespace; empty for kinds without namespaces.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// What tells it from a later object of the same name.
    pub uid: Uid,
    /// Its version.
    pub resource_version: ResourceVersion,
    /// Its complete JSON, scrubbed.
    pub body: Bytes,
}

/// An object whose top level and metadata were taken apart; it borrows its bytes.
pub(crate) struct Parts<'a> {
    pub(crate) fields: Fields<'a>,
    pub(crate) metadata: Fields<'a>,
}

/// What the API server calls the bookmark that ends the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

// === impl RawObject ===

impl RawObject {
    /// Reads an object that was scrubbed while it arrived.
    pub(crate) fn read(scrubbed: &[u8], rules: &ScrubRules) -> Result<Self, Malformed> {
        let parts = Parts::read(scrubbed)?;
        let namespace = parts.metadata.get("namespace")?.map(text).transpose()?;
        Ok(Self {
            namespace: namespace.unwrap_or_default().into(),
            name: parts.metadata.require_text("name")?.into(),
            uid: Uid::from(&*parts.metadata.require_text("uid")?),
            resource_version: parts.resource_version()?,
            body: rules.complete(scrubbed, &parts)?,
        })
    }
}

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
        // Where they are redacted, they are null.
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
