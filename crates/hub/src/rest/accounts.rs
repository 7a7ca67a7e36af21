//! Our own view of the accounts.

use std::collections::{BTreeMap, HashMap};

use axum::{Json, extract::State};
use jiff::Timestamp;
use serde::Serialize;
use spindrift_model::{AccountName, CacheKinds, KindPattern, SessionId};
use utoipa::ToSchema;

use super::{RestState, error::Error, freeze::Frozen};
use crate::{
    account_limits::Properties,
    store::{AccountRow, Freeze, ScopeCounts, UnavailableRow},
};

/// An account: its cluster, the agent that caches it, and its progress.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Account)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountView {
    name: String,
    /// The API server's address as the agent dials it.
    host: String,
    cluster_uid: Option<String>,
    ca_fingerprint: Option<String>,
    kubernetes_version: String,
    namespaces: Vec<String>,
    /// The agent that caches it now; none if no agent does, and then its objects may be stale.
    cached_by: Option<String>,
    /// The hub that the agent is connected to.
    hub: Option<String>,
    /// The position in its change feed.
    seq: u64,
    objects: u64,
    /// Number of kinds (per namespace, if the account is bound to some) that are watched.
    watches: u64,
    /// Number of them that are being listed, or wait for it.
    listing: u64,
    /// Number of them that the agent is not allowed to read; `/v1/watches` has the reasons.
    denied: u64,
    /// Last sign of life of the agent that caches it, or last announcement of the account.
    last_seen: String,
    /// Why and since when nothing may be changed in it, if so.
    frozen: Option<Frozen>,
    /// Agents that are configured for it and cannot serve it now.
    unavailable: Vec<Unavailable>,
    /// First of the problems.
    problem: Option<String>,
    /// Problems for the operator, such as a second cluster that claimed the name, or kinds that are not cached.
    problems: Vec<String>,
}

/// An agent that cannot serve an account.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Unavailable {
    agent: String,
    reason: String,
    /// ISO-8601.
    since: String,
}

/// Data of accounts beside their own rows.
#[derive(Default)]
struct Around {
    objects: HashMap<AccountName, u64>,
    scopes: HashMap<AccountName, ScopeCounts>,
    sessions: HashMap<SessionId, Timestamp>,
    frozen: HashMap<AccountName, Freeze>,
    unavailable: BTreeMap<AccountName, Vec<Unavailable>>,
}

/// All accounts, with who caches them and how far.
#[utoipa::path(get, path = "/v1/accounts", responses((status = 200, body = Vec<AccountView>)))]
pub(super) async fn list(State(state): State<RestState>) -> Result<Json<Vec<AccountView>>, Error> {
    let RestState { store, tenant, .. } = &state;
    let rows = store.accounts(tenant).await?;
    let sessions = store.live_sessions(tenant, super::ALIVE).await?;
    let around = Around {
        objects: store.object_counts(tenant).await?.into_iter().collect(),
        scopes: store.scope_counts(tenant).await?.into_iter().collect(),
        sessions: sessions.into_iter().map(|session| (session.id, session.last_seen)).collect(),
        frozen: store.frozen(tenant).await?,
        unavailable: unavailable(&state).await?,
    };
    let unknown =
        around.unavailable.iter().filter(|(name, _)| !rows.iter().any(|row| row.description.name == **name));
    let mut views: Vec<_> =
        unknown.map(|(name, agents)| AccountView::unknown(name, agents.clone())).collect();
    views.extend(rows.into_iter().map(|row| AccountView::new(row, &around, &state.kinds)));
    views.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Json(views))
}

/// Agents that cannot serve accounts they are configured for, by account.
async fn unavailable(state: &RestState) -> Result<BTreeMap<AccountName, Vec<Unavailable>>, Error> {
    let mut by_account: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for UnavailableRow { account, agent, reason, since } in
        state.store.unavailable_accounts(&state.tenant, super::ALIVE).await?
    {
        let agent = Unavailable { agent: agent.to_string(), reason, since: since.to_string() };
        by_account.entry(account).or_default().push(agent);
    }
    Ok(by_account)
}

// === impl AccountView ===

impl AccountView {
    fn new(row: AccountRow, around: &Around, kinds: &CacheKinds) -> Self {
        let AccountRow { description, last_seen, problem, cursor, holder, .. } = row;
        let mut problems: Vec<_> = problem.into_iter().map(|problem| problem.text).collect();
        problems.extend(omitted_kinds(&description.properties, kinds));
        let unavailable = around.unavailable.get(&description.name).cloned().unwrap_or_default();
        problems.extend(unavailable.iter().map(Unavailable::problem));
        let holder = holder.filter(|holder| holder.lease_left.is_some());
        let heard = holder.as_ref().and_then(|holder| around.sessions.get(&holder.session)).copied();
        let ScopeCounts { scopes, unlisted, denied } =
            around.scopes.get(&description.name).copied().unwrap_or_default();
        Self {
            objects: around.objects.get(&description.name).copied().unwrap_or_default(),
            frozen: around.frozen.get(&description.name).cloned().map(Frozen::from),
            name: description.name.to_string(),
            host: description.cluster.host,
            cluster_uid: description.cluster.uid,
            ca_fingerprint: description.cluster.ca_fingerprint,
            kubernetes_version: description.kubernetes_version,
            namespaces: description.namespaces,
            cached_by: holder.as_ref().map(|holder| holder.agent.to_string()),
            hub: holder.map(|holder| holder.hub.to_string()),
            seq: cursor.seq.0,
            watches: scopes,
            listing: unlisted,
            denied,
            last_seen: heard.map_or(last_seen, |heard| heard.max(last_seen)).to_string(),
            unavailable,
            problem: problems.first().cloned(),
            problems,
        }
    }

    /// An account whose cluster has never responded to an agent.
    fn unknown(name: &AccountName, unavailable: Vec<Unavailable>) -> Self {
        let problems: Vec<_> = unavailable.iter().map(Unavailable::problem).collect();
        Self {
            name: name.to_string(),
            host: String::new(),
            cluster_uid: None,
            ca_fingerprint: None,
            kubernetes_version: String::new(),
            namespaces: Vec::new(),
            cached_by: None,
            hub: None,
            seq: 0,
            objects: 0,
            watches: 0,
            listing: 0,
            denied: 0,
            last_seen: unavailable.first().map(|agent| agent.since.clone()).unwrap_or_default(),
            frozen: None,
            unavailable,
            problem: problems.first().cloned(),
            problems,
        }
    }
}

// === impl Unavailable ===

impl Unavailable {
    fn problem(&self) -> String {
        format!("agent {} cannot serve it: {}", self.agent, self.reason)
    }
}

/// A sentence for each kind that the account names and this hub leaves out.
fn omitted_kinds(properties: &str, kinds: &CacheKinds) -> Vec<String> {
    let named: Vec<String> = Properties::parse(properties).take("kinds");
    let is_omitted = |text: &&String| {
        let pattern = KindPattern::parse(text);
        kinds.omit.iter().any(|omitted| omitted.overlaps(&pattern))
    };
    let sentence = |text: &String| {
        format!(
            "the kind {text:?} (kinds of the account) is not cached: kubesvc.cache.cacheOmitKinds of the hub leaves it out"
        )
    };
    named.iter().filter(is_omitted).map(sentence).collect()
}
