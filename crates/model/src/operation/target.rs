//! Targets of operations, in the words of the request.

use std::fmt;

use serde_json::Value;

use super::{Manifest, ObjectRef};

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
}

// === impl TargetRef ===

impl<'a> TargetRef<'a> {
    /// Target by name.
    pub(super) fn object(ObjectRef { api_version, kind, namespace, name }: &'a ObjectRef) -> Self {
        Self {
            api_version: api_version.as_deref(),
            namespace: namespace.as_deref(),
            name: Some(name),
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
