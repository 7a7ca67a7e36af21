//! `kubernetes.serverSideApply.*`: how operations apply manifests.

use serde::{Deserialize, Serialize};

/// `kubernetes.serverSideApply.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerSideApply {
    /// `always`, `never`, or `allowed`: where the kind, or the manifest's annotation
    /// `agent-k8s.armory.io/serverside-apply`, asks for it. A request that says how beats all.
    pub enabled: Choice,
    /// Make the agent the only owner of all fields.
    pub clear_managed_fields: Choice,
    /// Fill in the API server's defaults, for clusters older than 1.22.
    pub manifest_defaults: Choice,
    /// Kinds for which it is otherwise.
    pub kinds: Vec<KindApply>,
}

/// `kubernetes.serverSideApply.kinds[]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct KindApply {
    /// The kind, as `Kind` or `Kind.group`.
    pub kind: String,
    /// As above, for this kind.
    pub enabled: Choice,
    /// As above, for this kind.
    pub clear_managed_fields: Choice,
    /// As above, for this kind.
    pub manifest_defaults: Choice,
}

/// Condition for an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// For every manifest.
    Always,
    /// For none.
    Never,
    /// Where a more exact rule, or the manifest itself, asks for it.
    #[default]
    Allowed,
}
