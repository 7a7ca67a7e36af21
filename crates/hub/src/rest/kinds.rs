//! Kinds of all accounts, and their short names.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use axum::{Json, extract::State};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use spindrift_model::{KindPattern, Resource, TenantId};
use utoipa::{IntoParams, ToSchema};

use super::{
    RestState,
    error::{Error, Query},
    live::ServedKind,
};
use crate::store::{Definition, KindRow, ObjectQuery, Store, StoreError};

/// A kind that is cached of some accounts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiResource {
    group: String,
    /// One of the served versions, if accounts differ.
    version: String,
    kind: String,
    /// The name in URLs, such as `deployments`.
    plural: String,
    namespaced: bool,
    short_names: Vec<String>,
    /// Number of accounts that have it.
    accounts: u64,
    /// Set if it is cached. Others are read live.
    cached: bool,
    /// Number of accounts that serve it and do not cache it, for kinds that every cluster serves.
    uncached: u64,
}

/// API group (empty for the core group) and kind.
pub(super) type GroupKind = (String, String);

/// Kinds that patterns mean.
#[derive(Debug)]
pub(super) struct MeantKinds {
    pub(super) meant: Vec<GroupKind>,
    /// All stored kinds.
    pub(super) stored: HashSet<GroupKind>,
    /// Patterns that mean no stored kind.
    pub(super) uncached: Vec<String>,
}

/// Short names of custom resources, from their cached definitions.
///
/// Definitions are large and rarely change, so each version of one is read once.
#[derive(Debug, Default)]
pub struct CustomNames {
    read: Mutex<HashMap<String, (Definition, Arc<Names>)>>,
}

#[derive(Debug)]
struct Names {
    kind: GroupKind,
    short: Vec<String>,
}

/// Part of a CustomResourceDefinition that is read.
#[derive(Deserialize)]
struct Body {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: SpecNames,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecNames {
    kind: String,
    #[serde(default)]
    short_names: Vec<String>,
}

/// Which kinds.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct KindsQuery {
    /// Also kinds that are not cached, as the clusters of all connected accounts serve them.
    #[serde(default)]
    live: bool,
}

/// The kinds that are cached, of all accounts.
#[utoipa::path(get, path = "/v1/api-resources", params(KindsQuery), responses((status = 200, body = Vec<ApiResource>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    Query(KindsQuery { live }): Query<KindsQuery>,
) -> Result<Json<Vec<ApiResource>>, Error> {
    let kinds = state.store.kinds(&state.tenant).await?;
    let custom = state.custom_names.look_up(&state.store, &state.tenant).await?;
    let watched = state.store.scope_counts(&state.tenant).await?.len() as u64;
    let mut resources = BTreeMap::new();
    for KindRow { resource, accounts } in kinds {
        let short_names = short_names(&resource, &custom);
        let uncached = if is_built_in(&resource) { watched.saturating_sub(accounts) } else { 0 };
        let key = group_and_kind(&resource);
        resources.insert(key, ApiResource { uncached, ..ApiResource::new(resource, short_names, accounts) });
    }
    if live {
        add_served(&state, &mut resources).await?;
    }
    Ok(Json(resources.into_values().collect()))
}

/// Adds the kinds that are not cached.
async fn add_served(
    state: &RestState,
    resources: &mut BTreeMap<GroupKind, ApiResource>,
) -> Result<(), StoreError> {
    let mut accounts = state.accounts.all().await?;
    accounts.retain(|account| account.attended);
    // An account that cannot be asked has no kinds to add; reading its objects reports the reason.
    let (served, _) = state.served_kinds.of_all(&state.live, &accounts).await;
    for (_, kinds) in served {
        for ServedKind { resource, short_names } in &*kinds {
            let added = resources.entry(group_and_kind(resource)).or_insert_with(|| ApiResource {
                cached: false,
                ..ApiResource::new(resource.clone(), short_names.clone(), 0)
            });
            added.accounts += u64::from(!added.cached);
        }
    }
    Ok(())
}

/// Whether every cluster serves it: the core group, and groups of Kubernetes itself.
fn is_built_in(resource: &Resource) -> bool {
    !resource.group.contains('.') || resource.group.ends_with(".k8s.io")
}

fn short_names(resource: &Resource, custom: &HashMap<GroupKind, Vec<String>>) -> Vec<String> {
    match resource.short_names() {
        [] => custom.get(&group_and_kind(resource)).cloned().unwrap_or_default(),
        built_in => built_in.iter().map(ToString::to_string).collect(),
    }
}

pub(super) fn group_and_kind(resource: &Resource) -> GroupKind {
    (resource.group.to_string(), resource.kind.to_string())
}

/// Looks up the stored kinds that the patterns mean; one name may stand in several groups.
pub(super) async fn meant(patterns: &[KindPattern], state: &RestState) -> Result<MeantKinds, StoreError> {
    let stored = state.store.kinds(&state.tenant).await?;
    let is_known = |pattern: &KindPattern| stored.iter().any(|row| pattern.matches(&row.resource));
    // Definitions are looked at only for a name that nothing else has.
    let custom = if patterns.iter().all(is_known) {
        HashMap::new()
    } else {
        state.custom_names.look_up(&state.store, &state.tenant).await?
    };
    let matches = |pattern: &KindPattern, resource: &Resource| {
        pattern.matches_with(resource, &short_names(resource, &custom))
    };
    let is_meant = |row: &&KindRow| patterns.iter().any(|pattern| matches(pattern, &row.resource));
    let is_uncached = |pattern: &&KindPattern| !stored.iter().any(|row| matches(pattern, &row.resource));
    Ok(MeantKinds {
        meant: stored.iter().filter(is_meant).map(|row| group_and_kind(&row.resource)).collect(),
        uncached: patterns.iter().filter(is_uncached).map(ToString::to_string).collect(),
        stored: stored.iter().map(|row| group_and_kind(&row.resource)).collect(),
    })
}

// === impl ApiResource ===

impl ApiResource {
    /// A cached kind.
    fn new(resource: Resource, short_names: Vec<String>, accounts: u64) -> Self {
        let Resource { group, version, kind, plural, namespaced } = resource;
        Self {
            group: group.to_string(),
            version: version.to_string(),
            kind: kind.to_string(),
            plural: plural.to_string(),
            namespaced,
            short_names,
            accounts,
            cached: true,
            uncached: 0,
        }
    }
}

// === impl CustomNames ===

impl CustomNames {
    /// The short names by group and kind. Accounts may differ in them; the first account's are taken.
    async fn look_up(
        &self,
        store: &Store,
        tenant: &TenantId,
    ) -> Result<HashMap<GroupKind, Vec<String>>, StoreError> {
        let mut newest = store.definitions(tenant).await?;
        newest.dedup_by(|later, first| later.name == first.name);
        let mut names = HashMap::new();
        for definition in newest {
            let read = self.read.lock().get(&definition.name).cloned();
            let found = match read {
                Some((same, found)) if same == definition => found,
                _ => match read_names(store, tenant, &definition).await? {
                    Some(found) => Arc::new(found),
                    None => continue,
                },
            };
            names.insert(definition.name.clone(), (definition, found));
        }
        let short = names.values().map(|(_, names)| (names.kind.clone(), names.short.clone())).collect();
        *self.read.lock() = names;
        Ok(short)
    }
}

async fn read_names(
    store: &Store,
    tenant: &TenantId,
    definition: &Definition,
) -> Result<Option<Names>, StoreError> {
    let query = ObjectQuery {
        tenant: tenant.clone(),
        accounts: Some(vec![definition.account.clone()]),
        kinds: Some(vec![("apiextensions.k8s.io".into(), "CustomResourceDefinition".into())]),
        name: Some(definition.name.clone()),
        limit: 1,
        ..ObjectQuery::default()
    };
    let rows = store.objects(&query).await?;
    // An object that is no definition, or was deleted meanwhile, has no short names.
    let body = rows.first().and_then(|row| serde_json::from_slice(&row.body).ok());
    Ok(body.map(|Body { spec: Spec { group, names } }| Names {
        kind: (group, names.kind),
        short: names.short_names,
    }))
}
