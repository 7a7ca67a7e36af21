//! Identity of an object, of its version, and of the scope that it is watched in.

use std::{fmt, sync::Arc};

use serde::Serialize;

macro_rules! opaque {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $type(Arc<str>);

        impl $type {
            /// The text as Kubernetes wrote it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $type {
            fn from(value: &str) -> Self {
                Self(value.into())
            }
        }

        impl From<String> for $type {
            fn from(value: String) -> Self {
                Self(value.into())
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

opaque! {
    /// A version of an object or a collection: opaque, compared for equality only, never by size.
    ResourceVersion
}
opaque! {
    /// Uid, which distinguishes an object from a later one of the same name.
    Uid
}
opaque! {
    /// The served version that an object was read in, such as `v1` or `v1beta1`.
    ApiVersion
}

/// Revision of the rules that an object was scrubbed by; a change of the rules makes stored objects stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct ScrubRevision(pub u32);

/// Unit of a list and a watch: a kind in one namespace, or in all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Scope {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The kind, as in manifests.
    pub kind: Arc<str>,
    /// The one namespace that is watched, or none for all (and for kinds without namespaces).
    pub namespace: Option<Arc<str>>,
}

/// Key of an object within an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ObjectKey {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The kind, as in manifests.
    pub kind: Arc<str>,
    /// The namespace; empty for kinds without namespaces.
    pub namespace: Arc<str>,
    /// The object's name.
    pub name: Arc<str>,
}

// === impl Scope ===

impl Scope {
    /// Namespace in words for the log: `(all namespaces)` if it is not one.
    pub fn watched_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("(all namespaces)")
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, " in {}", self.watched_namespace())
    }
}

// === impl ObjectKey ===

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, " {}/{}", self.namespace, self.name)
    }
}
