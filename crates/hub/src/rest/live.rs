//! Live reads: objects of kinds that the store does not have, through the agents of their accounts.
//!
//! ```text
//! selection ─▶ accounts that do not cache its kinds ─▶ discover (kept for a minute) ─▶ get or list ─▶ objects
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use axum::http::HeaderName;
use futures::{StreamExt, future::join_all, stream};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spindrift_model::{
    AccountName, Discover, ErrorKind, Get, KindPattern, List, ObjectKey, ObjectRef, OperationError, Resource,
    ScrubRevision, Seq, Verb,
};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{RestState, error::Error, objects::Object, selection::Selection};
use crate::{
    clouddriver::{Account, Live},
    store::{StoreError, StoredObject},
};

/// Set on responses with objects that were read from the clusters.
pub(super) const LIVE_HEADER: HeaderName = HeaderName::from_static("x-spindrift-live");

/// Number of accounts that one page reads, beside each other; their responses are in memory at once.
pub(super) const ACCOUNTS_OF_A_PAGE: usize = 8;

/// Number of accounts whose kinds are discovered beside each other.
const DISCOVERIES: usize = 32;

/// Age at which the kinds of an account are discovered again.
const FRESH: Duration = Duration::from_mins(1);

/// Time limit of a discovery, and of one read.
const DEADLINE: Duration = Duration::from_secs(20);

/// Resources that clusters serve, as their agents discovered them a moment ago.
#[derive(Debug, Default)]
pub struct ServedKinds {
    read: Mutex<HashMap<AccountName, DiscoveredAt>>,
}

/// Resources of one cluster, and the time of their discovery.
type DiscoveredAt = (Instant, Arc<[ServedKind]>);

/// A resource that a cluster serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedKind {
    pub(super) resource: Resource,
    pub(super) short_names: Vec<String>,
}

/// An account that could not be read.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadProblem {
    account: String,
    message: String,
}

/// Answer of the verb `discover`.
#[derive(Deserialize)]
struct Discovered {
    resources: Vec<DiscoveredKind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoveredKind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

#[derive(Deserialize)]
struct Items {
    items: Vec<Box<RawValue>>,
}

/// Part of an object that is read.
#[derive(Deserialize)]
struct LiveBody {
    kind: Option<String>,
    metadata: LiveMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LiveMetadata {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Returns the selected accounts that have a connected agent and do not cache the selected kinds, by name.
pub(super) async fn uncached_accounts(
    state: &RestState,
    selection: &Selection,
) -> Result<Vec<Arc<Account>>, StoreError> {
    let caching = match &selection.query.kinds {
        None => return Ok(Vec::new()),
        Some(kinds) => state.store.accounts_that_cache(&state.tenant, kinds).await?,
    };
    let is_meant = |account: &Arc<Account>| {
        let is_selected =
            selection.query.accounts.as_ref().is_none_or(|accounts| accounts.contains(&account.name));
        is_selected && account.attended && !caching.contains(&account.name)
    };
    Ok(state.accounts.all().await?.into_iter().filter(is_meant).collect())
}

/// Reads the selected objects of some accounts. An account that fails costs its own objects only.
pub(super) async fn read(
    state: &RestState,
    selection: &Selection,
    accounts: &[Arc<Account>],
) -> (Vec<Object>, Vec<ReadProblem>) {
    let reads = accounts
        .iter()
        .map(|account| async move { (account.name.clone(), read_account(state, selection, account).await) });
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for (account, read) in join_all(reads).await {
        match read {
            Ok(found) => objects.extend(found),
            Err(error) => problems.push(ReadProblem::new(&account, &error)),
        }
    }
    (objects, problems)
}

async fn read_account(
    state: &RestState,
    selection: &Selection,
    account: &Account,
) -> Result<Vec<Object>, OperationError> {
    let query = &selection.query;
    // As in the store, which has nothing of a namespace that the account leaves out.
    if query.namespace.as_deref().is_some_and(|namespace| !account.reaches(namespace)) {
        return Ok(Vec::new());
    }
    let mut objects = Vec::new();
    for resource in state.served_kinds.named(&state.live, &account.name, &selection.kinds).await? {
        if query.namespace.is_some() && !resource.namespaced {
            continue;
        }
        for body in bodies(state, selection, account, &resource).await? {
            let object = stored(&account.name, &resource, &body)?;
            if selection.matches(&object) {
                objects.push(Object::try_from(object).map_err(|error| unreadable(error.message()))?);
            }
        }
    }
    Ok(objects)
}

/// Returns the selected objects of one kind, as the API server has them.
async fn bodies(
    state: &RestState,
    selection: &Selection,
    account: &Account,
    resource: &Resource,
) -> Result<Vec<Box<RawValue>>, OperationError> {
    let query = &selection.query;
    let (kind, api_version) = (resource.plural.to_string(), Some(resource.api_version()));
    let namespace = query.namespace.clone();
    let verb = match &query.name {
        Some(name) if namespace.is_some() || !resource.namespaced => {
            let target = ObjectRef { api_version, kind, namespace, name: name.clone() };
            Verb::Get(Get { target, reveal: false, anywhere: false })
        }
        name => Verb::List(List {
            api_version,
            kind,
            namespace,
            label_selector: selection.label_selector.clone(),
            field_selector: name.as_ref().map(|name| format!("metadata.name={name}")),
            anywhere: false,
        }),
    };
    let is_list = matches!(verb, Verb::List(_));
    let response = match state.live.call(&account.name, verb, None, Some(DEADLINE)).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        response => response?,
    };
    let malformed = |error| unreadable(&format!("the answer is not what was asked for: {error}"));
    if is_list {
        let Items { items } = serde_json::from_slice(&response.body).map_err(malformed)?;
        return Ok(items);
    }
    Ok(vec![serde_json::from_slice(&response.body).map_err(malformed)?])
}

/// Returns an object in the form in which the store has it.
pub(super) fn stored(
    account: &AccountName,
    resource: &Resource,
    body: &RawValue,
) -> Result<StoredObject, OperationError> {
    let LiveBody { kind, metadata } = serde_json::from_str(body.get())
        .map_err(|error| unreadable(&format!("an object cannot be read: {error}")))?;
    let LiveMetadata { namespace, name, uid, resource_version, labels } = metadata;
    let body = if kind.is_some() {
        body.get().to_owned()
    } else {
        // Items of a list do not repeat their kind.
        let rest = body.get().strip_prefix('{').unwrap_or_default();
        format!(r#"{{"kind":"{}","apiVersion":"{}",{rest}"#, resource.kind, resource.api_version())
    };
    Ok(StoredObject {
        account: account.clone(),
        key: ObjectKey {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
            namespace: namespace.into(),
            name: name.into(),
        },
        uid: uid.as_str().into(),
        resource_version: resource_version.as_str().into(),
        api_version: resource.version.clone(),
        scrub_revision: ScrubRevision(0),
        labels: serde_json::to_string(&labels).unwrap_or_default(),
        body: body.into(),
        seq: Seq(0),
        updated_at: jiff::Timestamp::now(),
    })
}

fn unreadable(message: &str) -> OperationError {
    OperationError::hub(ErrorKind::BadAnswer, message)
}

// === impl ServedKinds ===

impl ServedKinds {
    /// Returns the resources of these accounts, and the accounts that could not be asked.
    pub(super) async fn of_all(
        &self,
        live: &Live,
        accounts: &[Arc<Account>],
    ) -> (Vec<(AccountName, Arc<[ServedKind]>)>, Vec<ReadProblem>) {
        let asked = stream::iter(accounts.to_vec())
            .map(|account| async move { (account.name.clone(), self.of(live, &account.name).await) })
            .buffer_unordered(DISCOVERIES)
            .collect::<Vec<_>>();
        let (mut served, mut problems) = (Vec::new(), Vec::new());
        for (account, kinds) in asked.await {
            match kinds {
                Ok(kinds) => served.push((account, kinds)),
                Err(error) => problems.push(ReadProblem::new(&account, &error)),
            }
        }
        (served, problems)
    }

    /// Returns the resources of an account that the patterns name.
    pub(super) async fn named(
        &self,
        live: &Live,
        account: &AccountName,
        patterns: &[KindPattern],
    ) -> Result<Vec<Resource>, OperationError> {
        let served = self.of(live, account).await?;
        let is_named = |kind: &&ServedKind| {
            patterns.iter().any(|pattern| pattern.matches_with(&kind.resource, &kind.short_names))
        };
        Ok(served.iter().filter(is_named).map(|kind| kind.resource.clone()).collect())
    }

    async fn of(&self, live: &Live, account: &AccountName) -> Result<Arc<[ServedKind]>, OperationError> {
        let known = self.read.lock().get(account).filter(|(at, _)| at.elapsed() < FRESH).cloned();
        if let Some((_, kinds)) = known {
            return Ok(kinds);
        }
        let verb = Verb::Discover(Discover {});
        let response = live.call(account, verb, None, Some(DEADLINE)).await?;
        let Discovered { resources } = serde_json::from_slice(&response.body)
            .map_err(|error| unreadable(&format!("the discovered kinds cannot be read: {error}")))?;
        let listed = resources.into_iter().filter(|kind| kind.verbs.iter().any(|verb| verb == "list"));
        let kinds: Arc<[_]> = listed.map(ServedKind::from).collect();
        let mut read = self.read.lock();
        // Accounts come and go.
        read.retain(|_, (at, _)| at.elapsed() < FRESH);
        read.insert(account.clone(), (Instant::now(), kinds.clone()));
        Ok(kinds)
    }
}

// === impl ServedKind ===

impl From<DiscoveredKind> for ServedKind {
    fn from(kind: DiscoveredKind) -> Self {
        let DiscoveredKind { group, version, kind, plural, namespaced, verbs: _, short_names } = kind;
        let resource = Resource {
            group: group.into(),
            version: version.as_str().into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        };
        Self { resource, short_names }
    }
}

// === impl ReadProblem ===

impl ReadProblem {
    pub(super) fn new(account: &AccountName, error: &OperationError) -> Self {
        Self { account: account.to_string(), message: error.message().clone() }
    }
}

/// Refuses `live` without a kind: reading every kind of every cluster is never meant.
pub(super) fn check(live: bool, selection: &Selection) -> Result<(), Error> {
    if live && selection.kinds.is_empty() {
        return Err(Error::bad_request("live", "expected together with kind, found no kind"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource() -> Resource {
        Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        }
    }

    #[test]
    fn items_of_a_list_get_their_kind_and_keep_all_else() {
        let account = AccountName::parse("main").unwrap();
        let item = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","labels":{"app":"web"}},"data":{"k":"1.0"}}"#;
        let body: Box<RawValue> = serde_json::from_str(item).unwrap();
        let object = stored(&account, &resource(), &body).unwrap();
        let expected = item.replacen('{', r#"{"kind":"ConfigMap","apiVersion":"v1","#, 1);
        assert_eq!(std::str::from_utf8(&object.body).unwrap(), expected);
        assert_eq!((&*object.key.namespace, &*object.key.name), ("n", "a"));
        assert_eq!((object.uid.as_str(), object.resource_version.as_str()), ("u", "7"));
        assert_eq!(object.labels, r#"{"app":"web"}"#);
        let whole: Box<RawValue> = serde_json::from_str(&expected).unwrap();
        assert_eq!(stored(&account, &resource(), &whole).unwrap().body, object.body);
        let nameless: Box<RawValue> = serde_json::from_str(r#"{"metadata":{}}"#).unwrap();
        assert!(stored(&account, &resource(), &nameless).is_err());
    }
}
