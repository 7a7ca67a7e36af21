//! Description of an account, and the identity that binds its name to one cluster.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::AccountName;

/// Identity of a cluster.
///
/// Hosts repeat between clusters and serving certificates rotate, so neither decides; both are kept to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ClusterIdentity {
    /// The uid of the `kube-system` namespace, where it can be read.
    pub uid: Option<String>,
    /// The SHA-256 fingerprint of the CA bundle, where one is configured.
    pub ca_fingerprint: Option<String>,
    /// The API server's address as the agent dials it.
    pub host: String,
}

/// An account as its agent announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountDescription {
    /// Its name, unique over the installation.
    pub name: AccountName,
    /// The cluster it stands for.
    pub cluster: ClusterIdentity,
    /// The API server's version, such as `v1.36.3`.
    pub kubernetes_version: String,
    /// The namespaces it is limited to, or that were seen; known before the first sync ends.
    pub namespaces: Vec<String>,
    /// Its other properties (permissions and the like) as a JSON object.
    pub properties: String,
    /// A resume point that is older than this is not used.
    pub max_resumable_age: Duration,
}

/// An account that an agent is configured for and cannot serve now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableAccount {
    /// Its name.
    pub name: AccountName,
    /// The reason, for people to read.
    pub reason: String,
}

// === impl ClusterIdentity ===

impl ClusterIdentity {
    /// Whether both can be the same cluster: by uid if both have it, else by CA bundle; nothing in common is no proof
    /// of difference.
    pub fn may_be(&self, other: &Self) -> bool {
        match (&self.uid, &other.uid, &self.ca_fingerprint, &other.ca_fingerprint) {
            (Some(a), Some(b), ..) | (_, _, Some(a), Some(b)) => a == b,
            _ => true,
        }
    }
}

impl fmt::Display for ClusterIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uid, ca_fingerprint, host } = self;
        write!(
            f,
            "{host} (uid {}, CA {})",
            uid.as_deref().unwrap_or("unknown"),
            ca_fingerprint.as_deref().unwrap_or("unknown")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(uid: Option<&str>, ca: Option<&str>) -> ClusterIdentity {
        ClusterIdentity {
            uid: uid.map(Into::into),
            ca_fingerprint: ca.map(Into::into),
            host: "https://same".into(),
        }
    }

    #[test]
    fn the_uid_decides_before_the_ca_bundle_and_the_host_never_does() {
        for (a, b, same) in [
            (cluster(Some("1"), Some("x")), cluster(Some("1"), Some("y")), true),
            (cluster(Some("1"), Some("x")), cluster(Some("2"), Some("x")), false),
            (cluster(None, Some("x")), cluster(Some("2"), Some("x")), true),
            (cluster(None, Some("x")), cluster(None, Some("y")), false),
            (cluster(None, None), cluster(Some("2"), Some("y")), true),
        ] {
            assert_eq!(a.may_be(&b), same, "{a} and {b}");
        }
    }
}
