//! Response bodies of the hub.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Account: its cluster, the agent that caches it, and the state of the cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Account {
    pub(crate) name: String,
    /// Address of the API server, as the agent connects to it.
    pub(crate) host: String,
    pub(crate) cluster_uid: Option<String>,
    pub(crate) ca_fingerprint: Option<String>,
    pub(crate) kubernetes_version: String,
    pub(crate) namespaces: Vec<String>,
    /// Agent that caches the account now.
    pub(crate) cached_by: Option<String>,
    /// Hub to which the agent is connected.
    pub(crate) hub: Option<String>,
    /// Sequence number of the newest change.
    pub(crate) seq: u64,
    pub(crate) objects: u64,
    /// Number of watches: one for each kind, or for each kind and namespace if the account is limited to namespaces.
    pub(crate) watches: u64,
    /// Number of watches that are not listed yet.
    pub(crate) listing: u64,
    /// Number of watches that are forbidden to the agent; absent in responses of the previous release.
    #[serde(default)]
    pub(crate) denied: u64,
    /// RFC 3339.
    pub(crate) last_seen: String,
    /// Problem that an operator should look at.
    pub(crate) problem: Option<String>,
    /// Agents that are configured for it and cannot serve it now; absent in responses of the previous release.
    #[serde(default)]
    pub(crate) unavailable: Vec<Unavailable>,
    /// All problems; absent in responses of the previous release.
    #[serde(default)]
    pub(crate) problems: Vec<String>,
    /// Freeze of the account; absent in responses of the previous release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frozen: Option<Frozen>,
}

/// Freeze of an account: the hub rejects changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frozen {
    pub(crate) reason: String,
    /// RFC 3339.
    pub(crate) since: String,
}

/// An agent that cannot serve an account.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Unavailable {
    pub(crate) agent: String,
    pub(crate) reason: String,
    /// RFC 3339.
    pub(crate) since: String,
}

/// A connected agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) zone: Option<String>,
    pub(crate) hub: String,
    /// RFC 3339.
    pub(crate) connected_at: String,
    /// RFC 3339.
    pub(crate) last_seen: String,
    /// Accounts that the agent caches.
    pub(crate) accounts: Vec<String>,
}

/// Watch of one kind of an account, in one namespace or in all.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchStatus {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// `None` for all namespaces and for cluster-scoped kinds.
    pub(crate) namespace: Option<String>,
    /// `live`, `listing`, `denied` or `stale`.
    pub(crate) phase: String,
    /// Newest resource version in the store.
    pub(crate) resource_version: Option<String>,
    /// Seconds since the store has that version.
    pub(crate) age: Option<u64>,
    pub(crate) objects: u64,
    /// Reason if the watch is forbidden.
    #[serde(default)]
    pub(crate) denied: Option<String>,
}

/// A kind that is cached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiResource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Name in URLs, such as `deployments`.
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    /// Number of accounts that have the kind.
    pub(crate) accounts: u64,
    /// Cleared for a kind that no account caches; absent in responses of the previous release.
    #[serde(default = "cached", skip_serializing)]
    pub(crate) cached: bool,
    /// Number of accounts that serve it and do not cache it.
    #[serde(default, skip_serializing)]
    pub(crate) uncached: u64,
}

fn cached() -> bool {
    true
}

/// Version of the hub.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Release {
    pub(crate) version: String,
}

/// A page of objects.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Page {
    pub(crate) items: Vec<Object>,
    /// Token of the next page.
    pub(crate) r#continue: Option<String>,
    /// Position from which a watch continues; the one of the first page covers all pages.
    pub(crate) position: String,
    /// Accounts that could not be read live.
    #[serde(default)]
    pub(crate) problems: Vec<ReadProblem>,
}

/// An account that could not be read live.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ReadProblem {
    pub(crate) account: String,
    pub(crate) message: String,
}

/// Object as stored in its cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "as the hub calls it")]
pub(crate) struct Object {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Empty for cluster-scoped kinds.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    /// JSON of the object.
    pub(crate) object: Box<RawValue>,
}

/// Object that was deleted, or no longer matches the selection.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DeletedObject {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}
