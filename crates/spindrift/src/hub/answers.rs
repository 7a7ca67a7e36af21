//! What the hub answers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An account: which cluster, who caches it, how far.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Account {
    pub(crate) name: String,
    /// The API server's address as the agent dials it.
    pub(crate) host: String,
    pub(crate) cluster_uid: Option<String>,
    pub(crate) ca_fingerprint: Option<String>,
    pub(crate) kubernetes_version: String,
    pub(crate) namespaces: Vec<String>,
    /// The agent that caches it now, if any.
    pub(crate) cached_by: Option<String>,
    /// The hub that the agent is connected to.
    pub(crate) hub: Option<String>,
    /// The position in its change feed.
    pub(crate) seq: u64,
    pub(crate) objects: u64,
    /// How many kinds are watched, per namespace if it is bound to some.
    pub(crate) watches: u64,
    /// How many of them are not listed yet.
    pub(crate) listing: u64,
    /// How many of them the agent is not allowed to read; a hub of the release before does not tell.
    #[serde(default)]
    pub(crate) denied: u64,
    /// RFC 3339.
    pub(crate) last_seen: String,
    /// What the operator should know.
    pub(crate) problem: Option<String>,
    /// That nothing may be changed in it; a hub of the release before does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frozen: Option<Frozen>,
}

/// That nothing may be changed in an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frozen {
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
    /// The accounts that it caches.
    pub(crate) accounts: Vec<String>,
}

/// A kind of an account that is watched, in one namespace or in all.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchStatus {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// None for all namespaces, and for kinds without.
    pub(crate) namespace: Option<String>,
    /// `live`, `listing`, `denied` or `stale`.
    pub(crate) phase: String,
    /// The version that the store has reached.
    pub(crate) resource_version: Option<String>,
    /// Seconds since that version was reached.
    pub(crate) age: Option<u64>,
    pub(crate) objects: u64,
    /// Why the agent may not read it, if so.
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
    /// The name in URLs, such as `deployments`.
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    /// How many accounts have it.
    pub(crate) accounts: u64,
}

/// OperationFilter release the hub is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Release {
    pub(crate) version: String,
}

/// A page of objects.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Page {
    pub(crate) items: Vec<Object>,
    /// Asks for the next page.
    pub(crate) r#continue: Option<String>,
    /// Where a watch goes on from this page; that of the first page misses nothing of the later ones.
    pub(crate) position: String,
}

/// An object as its cluster has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "as the hub calls it")]
pub(crate) struct Object {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Empty for kinds without namespaces.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    /// The object itself, as text.
    pub(crate) object: Box<RawValue>,
}

/// An object that has gone, or no longer matches.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DeletedObject {
    pub(crate) account: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}
