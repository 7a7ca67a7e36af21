//! Spinnaker's names of objects: `deployment shop`, in a namespace that it calls location or region.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Kind;

/// `<kind> <name>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FullName {
    pub kind: Kind,
    pub name: String,
}

/// Kind, namespace and name of an object in an account; the namespace is empty for cluster-scoped ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Coordinates {
    pub kind: Kind,
    pub namespace: String,
    pub name: String,
}

/// Error for a name that is not two words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Expected a full resource name of the form <kind> <name>. Got: {0}")]
pub struct NotAFullName(pub String);

// === impl FullName ===

impl FullName {
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// Parses exactly two words.
    pub fn parse(text: &str) -> Result<Self, NotAFullName> {
        match text.split(' ').collect::<Vec<_>>()[..] {
            [kind, name] if !kind.is_empty() && !name.is_empty() => Ok(Self::new(Kind::parse(kind), name)),
            _ => Err(NotAFullName(text.to_owned())),
        }
    }

    /// Coordinates of this name in a namespace.
    pub fn at(self, namespace: impl Into<String>) -> Coordinates {
        Coordinates { kind: self.kind, namespace: namespace.into(), name: self.name }
    }
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

// === impl Coordinates ===

impl Coordinates {
    pub fn new(kind: Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    pub fn full_name(&self) -> FullName {
        FullName::new(self.kind.clone(), &*self.name)
    }
}

/// Format of Clouddriver's messages.
impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        write!(f, "KubernetesCoordinates(kind={kind}, namespace={namespace}, name={name})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_is_a_kind_and_a_name() {
        assert_eq!(FullName::parse("Deploy shop-web").unwrap().to_string(), "deployment shop-web");
        for text in ["shop-web", "", "deployment", "deployment  shop", "deployment shop web", " shop"] {
            let error = FullName::parse(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("Expected a full resource name of the form <kind> <name>. Got: {text}")
            );
        }
    }

    #[test]
    fn coordinates_read_as_in_clouddrivers_messages() {
        let coordinates = FullName::parse("rs shop-v000").unwrap().at("shop");
        assert_eq!(
            coordinates.to_string(),
            "KubernetesCoordinates(kind=replicaSet, namespace=shop, name=shop-v000)"
        );
        let json = serde_json::to_value(&coordinates).unwrap();
        assert_eq!(json, serde_json::json!({"kind": "replicaSet", "namespace": "shop", "name": "shop-v000"}));
    }
}
