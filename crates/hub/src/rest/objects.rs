//! Objects of all clusters at once.

mod page_writer;

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spindrift_model::{AccountName, ObjectKey};
use utoipa::{IntoParams, ToSchema};

use super::{
    RestState,
    error::{Both, Error, Query},
    live::{self, ACCOUNTS_OF_A_PAGE, LIVE_HEADER, ReadProblem},
    selection::{Filter, Selection},
};
use crate::{
    clouddriver::Account,
    store::{StoredObject, UnreadableObject},
};
use page_writer::{PageRequest, PageWriter};

/// Rows of one page; a page of full pods is then a few megabytes.
const DEFAULT_LIMIT: u32 = 500;
const LARGEST_LIMIT: u32 = 1000;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Rows of a page, 1 to 1000; 500 if absent.
    limit: Option<u32>,
    /// The `continue` of the page before.
    r#continue: Option<String>,
    /// Also reads the objects of accounts that do not cache the kind, from their clusters. Needs `kind`.
    #[serde(default)]
    live: bool,
}

/// A page of objects. One of stored objects is written piece by piece, as the client takes it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ObjectPage {
    items: Vec<Object>,
    /// Objects that belong to this page, but cannot be read from the store; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<UnreadableName<'static>>,
    /// Asks for the next page; absent on the last. A page before that may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#continue: Option<String>,
    /// Where a watch goes on from this page (`Last-Event-ID`); taken before the rows were read.
    position: String,
    /// Set if the items were read from the clusters just now, and not from the cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    live: bool,
    /// Kinds of the request that no account caches; with `live=true`, they are read from the clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncached: Vec<String>,
    /// Accounts that could not be read live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ReadProblem>,
}

/// Where a page begins.
enum PageStart {
    /// After this object of the store.
    Stored((AccountName, ObjectKey)),
    /// With the accounts after this one, which are read live.
    Live(String),
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

/// The same as it is written to a page or a feed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectText<'a> {
    account: &'a str,
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
    resource_version: &'a str,
    #[serde(rename = "object")]
    body: &'a RawValue,
}

/// An object that cannot be read from the store.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UnreadableName<'a> {
    account: &'a str,
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// Objects of all clusters, by account, kind, namespace, name, labels and fields.
#[utoipa::path(
    get,
    path = "/v1/objects",
    params(Filter, PageQuery),
    responses((status = 200, body = ObjectPage), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn list(
    State(state): State<RestState>,
    Query(Both(filter, page)): Query<Both<Filter, PageQuery>>,
) -> Result<Response, Error> {
    let limit = page.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=LARGEST_LIMIT).contains(&limit) {
        return Err(Error::bad_request(
            "limit",
            format_args!("expected 1 to {LARGEST_LIMIT}, found {limit}"),
        ));
    }
    let selection = filter.select(&state).await?;
    live::check(page.live, &selection)?;
    let start = page.r#continue.as_deref().map(after).transpose()?;
    let unread = if page.live { live::uncached_accounts(&state, &selection).await? } else { Vec::new() };
    let nothing_stored = selection.query.kinds.as_ref().is_some_and(Vec::is_empty);
    let after = match start {
        Some(PageStart::Live(after)) => return live_page(&state, &selection, &unread, &after).await,
        None if nothing_stored && !unread.is_empty() => {
            return live_page(&state, &selection, &unread, "").await;
        }
        Some(PageStart::Stored(after)) => Some(after),
        None => None,
    };
    let request = PageRequest { limit, after, then_live: !unread.is_empty() };
    let mut page = PageWriter::open(state, selection, request).await?;
    // The first chunk before the status: it shows whether the store answers.
    page.read().await?;
    let body = stream::unfold(page, async |mut page| Some((page.next().await?, page)));
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response())
}

/// Objects of the next few accounts that do not cache the kind.
async fn live_page(
    state: &RestState,
    selection: &Selection,
    unread: &[Arc<Account>],
    after: &str,
) -> Result<Response, Error> {
    let first = unread.partition_point(|account| account.name.as_str() <= after);
    let rest = unread.get(first..).unwrap_or_default();
    let (now, later) = rest.split_at(rest.len().min(ACCOUNTS_OF_A_PAGE));
    let (items, problems) = live::read(state, selection, now).await;
    let last = now.last().filter(|_| !later.is_empty());
    let page = ObjectPage {
        items,
        unreadable: Vec::new(),
        r#continue: last.map(|last| live_token(last.name.as_str())),
        position: String::new(),
        live: true,
        uncached: selection.uncached.clone(),
        problems,
    };
    Ok(([(LIVE_HEADER, "true")], Json(page)).into_response())
}

fn live_token(account: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("live\n{account}"))
}

fn token((account, key): &(AccountName, ObjectKey)) -> String {
    let parts = [account.as_str(), &key.group, &key.kind, &key.namespace, &key.name];
    BASE64_URL_SAFE_NO_PAD.encode(parts.join("\n"))
}

fn after(token: &str) -> Result<PageStart, Error> {
    let parse = || {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let text = Some(text).filter(|text| !text.contains('\0'))?;
        if let Some(account) = text.strip_prefix("live\n").filter(|account| !account.contains('\n')) {
            return Some(PageStart::Live(account.to_owned()));
        }
        let [account, group, kind, namespace, name] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let key = ObjectKey {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        Some(PageStart::Stored((AccountName::parse(account).ok()?, key)))
    };
    parse().ok_or_else(|| Error::bad_request("continue", "expected the `continue` of a page"))
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

// === impl ObjectText ===

impl<'a> ObjectText<'a> {
    /// Checks that the stored body is JSON: it becomes a part of the response as it is.
    pub(super) fn of(row: &'a StoredObject) -> Result<Self, UnreadableObject> {
        let StoredObject { account, key, uid, resource_version, api_version, body, .. } = row;
        let body = serde_json::from_slice(body).map_err(|error| UnreadableObject {
            account: account.clone(),
            key: key.clone(),
            reason: format!("its body is not JSON: {error}"),
        })?;
        Ok(Self {
            account: account.as_str(),
            group: &key.group,
            version: api_version.as_str(),
            kind: &key.kind,
            namespace: &key.namespace,
            name: &key.name,
            uid: uid.as_str(),
            resource_version: resource_version.as_str(),
            body,
        })
    }
}

// === impl UnreadableName ===

impl<'a> UnreadableName<'a> {
    pub(super) fn of(object: &'a UnreadableObject) -> Self {
        let UnreadableObject { account, key, reason: _ } = object;
        let ObjectKey { group, kind, namespace, name } = key;
        Self { account: account.as_str(), group, kind, namespace, name }
    }
}
