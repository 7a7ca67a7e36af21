//! Objects of all clusters at once.

use std::collections::HashSet;

use axum::{Json, extract::State};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spindrift_model::{AccountName, KindPattern, ObjectKey, Resource};
use utoipa::{IntoParams, ToSchema};

use super::{
    RestState,
    error::{Error, Query},
    position::Positions,
    selector::LabelSelector,
};
use crate::store::{Change, ObjectQuery, StoreError, StoredObject};

/// Rows of one page; a page of full pods is then a few megabytes.
const DEFAULT_LIMIT: u32 = 500;
const LARGEST_LIMIT: u32 = 1000;

/// Which objects.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Accounts, joined by commas; all if absent.
    account: Option<String>,
    /// `Pod`, `deployments`, `Widget.example.com`; all if absent.
    kind: Option<String>,
    /// The namespace; all if absent.
    namespace: Option<String>,
    /// The object's name.
    name: Option<String>,
    /// As in `kubectl -l`.
    label_selector: Option<String>,
}

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// Rows of a page, 1 to 1000; 500 if absent.
    limit: Option<u32>,
    /// The `continue` of the page before.
    r#continue: Option<String>,
}

/// A page of objects.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ObjectPage {
    items: Vec<Object>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#continue: Option<String>,
    /// Where a watch goes on from this page (`Last-Event-ID`); taken before the rows were read.
    position: String,
}

/// An object as its cluster has it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Object {
    account: String,
    group: String,
    version: String,
    kind: String,
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
    /// The object itself, without `managedFields`; of a Secret only its metadata.
    #[serde(rename = "object")]
    #[schema(value_type = Object)]
    body: Box<RawValue>,
}

/// A filter that has been understood.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) query: ObjectQuery,
    pub(super) labels: LabelSelector,
    kind: Option<KindPattern>,
    /// The kinds that were stored when the pattern was last looked up.
    known: HashSet<(String, String)>,
}

/// Objects of all clusters, by account, kind, namespace, name and labels.
#[utoipa::path(
    get,
    path = "/v1/objects",
    params(Filter, Page),
    responses((status = 200, body = ObjectPage), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn list(
    State(state): State<RestState>,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Json<ObjectPage>, Error> {
    let limit = page.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=LARGEST_LIMIT).contains(&limit) {
        return Err(Error::bad_request(
            "limit",
            format_args!("expected 1 to {LARGEST_LIMIT}, found {limit}"),
        ));
    }
    let Selection { mut query, labels, .. } = filter.select(&state).await?;
    query.limit = limit;
    query.after = page.r#continue.as_deref().map(after).transpose()?;
    let positions = state.store.positions(&state.tenant, query.accounts.as_deref()).await?;
    let position =
        Positions(positions.into_iter().map(|(account, at)| (account, at.seq)).collect()).to_string();

    let mut items = Vec::new();
    loop {
        let rows = state.store.objects(&query).await?;
        let full = rows.len() == query.limit as usize;
        query.after = rows.last().map(|row| (row.account.clone(), row.key.clone()));
        for row in rows.into_iter().filter(|row| labels.matches(&row.labels)) {
            items.push(Object::try_from(row)?);
        }
        // A page whose rows did not match is no page; go on until something did, or the end.
        if !full || !items.is_empty() {
            let r#continue = query.after.filter(|_| full).map(|after| token(&after));
            return Ok(Json(ObjectPage { items, r#continue, position }));
        }
    }
}

fn token((account, key): &(AccountName, ObjectKey)) -> String {
    let parts = [account.as_str(), &key.group, &key.kind, &key.namespace, &key.name];
    BASE64_URL_SAFE_NO_PAD.encode(parts.join("\n"))
}

fn after(token: &str) -> Result<(AccountName, ObjectKey), Error> {
    let parse = || {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let [account, group, kind, namespace, name] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let key = ObjectKey {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        Some((AccountName::parse(account).ok()?, key))
    };
    parse().ok_or_else(|| Error::bad_request("continue", "expected the `continue` of a page"))
}

// === impl Filter ===

impl Filter {
    /// Understands the filter; an unknown account or kind is simply empty, as it may come any moment.
    pub(super) async fn select(self, state: &RestState) -> Result<Selection, Error> {
        let Self { account, kind, namespace, name, label_selector } = self;
        let accounts = match account.as_deref() {
            None | Some("") => None,
            Some(names) => Some(
                names
                    .split(',')
                    .map(AccountName::parse)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|invalid| Error::bad_request("account", invalid))?,
            ),
        };
        let kind = kind.filter(|text| !text.is_empty()).map(|text| KindPattern::parse(&text));
        let labels = label_selector
            .unwrap_or_default()
            .parse()
            .map_err(|invalid| Error::bad_request("labelSelector", invalid))?;
        let query = ObjectQuery {
            tenant: state.tenant.clone(),
            accounts,
            kinds: None,
            namespace,
            name,
            after: None,
            limit: DEFAULT_LIMIT,
        };
        let mut selection = Selection { query, labels, kind, known: HashSet::new() };
        selection.look_up_kinds(state).await?;
        Ok(selection)
    }
}

// === impl Selection ===

impl Selection {
    /// Finds the stored kinds that the pattern means; one name may stand in several groups.
    async fn look_up_kinds(&mut self, state: &RestState) -> Result<(), StoreError> {
        let Some(pattern) = &self.kind else { return Ok(()) };
        let stored = state.store.kinds(&state.tenant).await?;
        let meant = stored.iter().filter(|resource| pattern.matches(resource)).map(group_and_kind);
        // A kind that has gone stays meant: its last objects are about to be told as deleted.
        let mut kinds: HashSet<_> = self.query.kinds.take().unwrap_or_default().into_iter().collect();
        kinds.extend(meant);
        self.query.kinds = Some(kinds.into_iter().collect());
        self.known = stored.iter().map(group_and_kind).collect();
        Ok(())
    }

    /// Looks the pattern up again if objects of a kind appear that was not there before.
    pub(super) async fn refresh(
        &mut self,
        state: &RestState,
        mut keys: impl Iterator<Item = &ObjectKey>,
    ) -> Result<(), StoreError> {
        if self.kind.is_some()
            && keys.any(|key| !self.known.contains(&(key.group.to_string(), key.kind.to_string())))
        {
            self.look_up_kinds(state).await?;
        }
        Ok(())
    }

    /// Whether the object is meant, labels aside.
    pub(super) fn covers(&self, change: &Change) -> bool {
        let ObjectQuery { kinds, namespace, name, .. } = &self.query;
        let key = change.key();
        let kind = (key.group.to_string(), key.kind.to_string());
        // What was deleted may be the last of its kind, which then is not known any more.
        let may_be = matches!(change, Change::Deleted { .. }) && !self.known.contains(&kind);
        (may_be || kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind)))
            && namespace.as_ref().is_none_or(|namespace| **namespace == *key.namespace)
            && name.as_ref().is_none_or(|name| **name == *key.name)
    }
}

fn group_and_kind(resource: &Resource) -> (String, String) {
    (resource.group.to_string(), resource.kind.to_string())
}

// === impl Object ===

impl TryFrom<StoredObject> for Object {
    type Error = Error;
    fn try_from(row: StoredObject) -> Result<Self, Error> {
        let StoredObject { account, key, uid, resource_version, api_version, body, .. } = row;
        let body = serde_json::from_slice(&body).map_err(|error| {
            tracing::error!(%account, object = %key, %error, "a stored object is not JSON");
            Error::not_found(format!("{key} of account {account} cannot be read from the store"))
        })?;
        Ok(Self {
            account: account.to_string(),
            group: key.group.to_string(),
            version: api_version.to_string(),
            kind: key.kind.to_string(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            uid: uid.to_string(),
            resource_version: resource_version.to_string(),
            body,
        })
    }
}
