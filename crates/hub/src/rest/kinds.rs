//! Kinds of all accounts, and their short names.

use std::{collections::HashMap, sync::Arc};

use axum::{Json, extract::State};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use spindrift_model::{KindPattern, Resource, TenantId};
use utoipa::ToSchema;

use super::{RestState, error::Error};
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
}

/// API group (empty for the core group) and kind.
pub(super) type GroupKind = (String, String);

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

/// The kinds that are cached, of all accounts.
#[utoipa::path(get, path = "/v1/api-resources", responses((status = 200, body = Vec<ApiResource>)))]
pub(super) async fn list(State(state): State<RestState>) -> Result<Json<Vec<ApiResource>>, Error> {
    let kinds = state.store.kinds(&state.tenant).await?;
    let custom = state.custom_names.look_up(&state.store, &state.tenant).await?;
    let resources = kinds.into_iter().map(|KindRow { resource, accounts }| {
        let short_names = short_names(&resource, &custom);
        let Resource { group, version, kind, plural, namespaced } = resource;
        ApiResource {
            group: group.to_string(),
            version: version.to_string(),
            kind: kind.to_string(),
            plural: plural.to_string(),
            namespaced,
            short_names,
            accounts,
        }
    });
    Ok(Json(resources.collect()))
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

/// The stored kinds that the patterns mean, and all stored kinds; one name may stand in several groups.
pub(super) async fn meant(
    patterns: &[KindPattern],
    state: &RestState,
) -> Result<(Vec<GroupKind>, Vec<GroupKind>), StoreError> {
    let stored = state.store.kinds(&state.tenant).await?;
    let is_known = |pattern: &KindPattern| stored.iter().any(|row| pattern.matches(&row.resource));
    // Definitions are looked at only for a name that nothing else has.
    let custom = if patterns.iter().all(is_known) {
        HashMap::new()
    } else {
        state.custom_names.look_up(&state.store, &state.tenant).await?
    };
    let is_meant = |resource: &Resource| {
        let short = short_names(resource, &custom);
        patterns.iter().any(|pattern| pattern.matches_with(resource, &short))
    };
    let known: Vec<_> = stored.iter().map(|row| group_and_kind(&row.resource)).collect();
    let meant = stored.iter().filter(|row| is_meant(&row.resource)).map(|row| group_and_kind(&row.resource));
    Ok((meant.collect(), known))
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
