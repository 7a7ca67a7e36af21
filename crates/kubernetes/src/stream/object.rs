//! Scrubbed objects with their identity.

use std::sync::Arc;

use bytes::Bytes;
use spindrift_model::{ResourceVersion, Uid};

use crate::{
    json::{Malformed, text},
    scrub::{ScrubRules, parts::Parts},
};

/// Object as the API server sent it, scrubbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawObject {
    /// Namespace; empty for kinds without namespaces.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Uid, which differs from that of a later object of the same name.
    pub uid: Uid,
    /// Resource version.
    pub resource_version: ResourceVersion,
    /// Complete JSON, scrubbed.
    pub body: Bytes,
}

// === impl RawObject ===

impl RawObject {
    /// Parses the identity of an object that was scrubbed while it arrived.
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
