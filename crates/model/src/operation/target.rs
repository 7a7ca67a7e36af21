//! Targets of operations, in the words of the request.

use std::fmt;

use serde_json::Value;

use super::{Manifest, ObjectRef};
use crate::{InvalidSegment, check_path_segment};

/// Object or objects that a request is about. The hub shows it and orders changes by it; the agent resolves it to a
/// resource of the cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetRef<'a> {
    /// API version, such as `apps/v1`.
    pub api_version: Option<&'a str>,
    /// Kind, by any of its names. A manifest may lack it.
    pub kind: Option<&'a str>,
    /// Namespace, if the request names one.
    pub namespace: Option<&'a str>,
    /// Name; none for several objects, and for one that gets its name from the API server.
    pub name: Option<&'a str>,
    /// Text to show in place of a name: a selector, or the prefix of a generated name.
    pub placeholder: &'a str,
    /// Manifest that the target is taken from.
    pub manifest: Option<&'a Manifest>,
    /// Set if no namespace means all namespaces.
    pub all_namespaces: bool,
    /// Set if a read may go beyond the account's namespaces.
    pub anywhere: bool,
    /// Cleared for measurements and discovery, which are about no object of the API.
    pub is_object: bool,
    /// Field of the request that contains the names, with a dot, for errors.
    pub(super) within: &'static str,
}

// === impl TargetRef ===

impl<'a> TargetRef<'a> {
    /// Target by name.
    pub(super) fn object(ObjectRef { api_version, kind, namespace, name }: &'a ObjectRef) -> Self {
        Self {
            api_version: api_version.as_deref(),
            namespace: namespace.as_deref(),
            name: Some(name),
            within: "target.",
            ..Self::selected(kind, None)
        }
    }

    /// Target of a manifest. The namespace in the manifest takes precedence over that of the request.
    pub(super) fn manifest(manifest: &'a Manifest, namespace: Option<&'a str>) -> Self {
        let text = |pointer| {
            manifest.0.pointer(pointer).and_then(Value::as_str).filter(|text: &&str| !text.is_empty())
        };
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace").or(namespace),
            name: text("/metadata/name"),
            placeholder: text("/metadata/generateName").unwrap_or("?"),
            manifest: Some(manifest),
            within: "manifest.",
            ..Self::selected("", None)
        }
    }

    /// Several objects of a kind.
    pub(super) fn selected(kind: &'a str, selector: Option<&'a str>) -> Self {
        Self {
            api_version: None,
            kind: Some(kind),
            namespace: None,
            name: None,
            placeholder: selector.unwrap_or("*"),
            manifest: None,
            all_namespaces: false,
            anywhere: false,
            is_object: true,
            within: "",
        }
    }

    /// API group, if the request names one: by its API version, or in the kind (`deployments.apps`).
    pub fn group(&self) -> Option<&'a str> {
        let version = self.api_version.filter(|version| !version.is_empty());
        match version {
            Some(version) => Some(version.split_once('/').map_or("", |(group, _)| group)),
            None => self.kind?.split_once('.').map(|(_, group)| group),
        }
    }

    /// Checks that the names in the request can be segments of an API server's path, so that the path addresses this
    /// object.
    pub fn check_path(&self) -> Result<(), InvalidSegment> {
        let Self { api_version, kind, namespace, name, manifest, within, .. } = *self;
        let metadata = if manifest.is_some() { "metadata." } else { "" };
        let check = |field: &str, value| check_path_segment(&format!("{within}{field}"), value);
        if let Some(name) = name {
            check(&format!("{metadata}name"), name)?;
        }
        // An empty namespace counts as absent.
        if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
            check(&format!("{metadata}namespace"), namespace)?;
        }
        if let Some(api_version) = api_version.filter(|version| !version.is_empty()) {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            if !group.is_empty() {
                check("apiVersion", group)?;
            }
            check("apiVersion", version)?;
        }
        match kind.filter(|kind| !kind.is_empty()) {
            Some(kind) => check("kind", kind),
            None => Ok(()),
        }
    }
}

/// As people write it: `Deployment shop/web`.
impl fmt::Display for TargetRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind.unwrap_or("?"))?;
        if let Some(namespace) = self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(self.name.unwrap_or(self.placeholder))
    }
}
