//! Live reads of objects that Spinnaker names.
//!
//! Clouddriver's live reads are not limited to the namespaces of an account, which limit only caching and changes. The
//! agent does the same if `anywhere` is set. The hub sets it only where it matters, since older agents do not support it.

use serde_json::Value;
use spindrift_model::{ErrorKind, Get, List, OperationError, check_path_segment};
use spindrift_spinnaker::{Coordinates, Kind, Manifest, Missing, Refusal};

use crate::clouddriver::{
    Account, Live,
    object_ref::{DEFAULT_NAMESPACE, api_version_and_kind, non_empty, object_ref},
};

/// List of all objects of a kind in a namespace.
pub(super) fn all(account: &Account, kind: &Kind, namespace: &str) -> List {
    let (api_version, kind) = api_version_and_kind(kind);
    let anywhere = !namespace.is_empty() && !account.reaches(namespace);
    let namespace = non_empty(namespace);
    List { api_version, kind, namespace, label_selector: None, field_selector: None, anywhere }
}

/// Whether an object is outside of the account's namespaces. One without a namespace is in Kubernetes' default one.
pub(super) fn is_outside(account: &Account, object: &Coordinates) -> bool {
    let namespace = match &*object.namespace {
        "" if object.kind.is("namespace") => &object.name,
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    !account.reaches(namespace)
}

/// Reads a list. Its items have no `kind` and `apiVersion`, which are added.
pub(super) async fn list(
    live: &Live,
    account: &Account,
    kind: &Kind,
    list: List,
) -> Result<Vec<Manifest>, OperationError> {
    let (group, name) = kind.in_kubernetes();
    let api_version = match group {
        None | Some("") => "v1".to_owned(),
        Some(group) => format!("{group}/v1"),
    };
    let name = name.to_owned();
    let whole = |mut item: Value| {
        let object = item.as_object_mut()?;
        object.entry("kind").or_insert_with(|| name.clone().into());
        object.entry("apiVersion").or_insert_with(|| api_version.clone().into());
        Manifest::try_from(item).ok()
    };
    Ok(live.list(&account.name, list).await?.into_iter().filter_map(whole).collect())
}

/// Refuses names that cannot be part of an API server's path: they would address another object.
pub(super) fn check_path(object: &Coordinates) -> Result<(), Refusal> {
    let Coordinates { namespace, name, .. } = object;
    check_location(namespace)?;
    check_path_segment("name", name).map_err(|invalid| Refusal::invalid_request(invalid.to_string()))
}

/// The same for a namespace; an empty one counts as absent.
pub(super) fn check_location(namespace: &str) -> Result<(), Refusal> {
    if namespace.is_empty() {
        return Ok(());
    }
    check_path_segment("location", namespace).map_err(|invalid| Refusal::invalid_request(invalid.to_string()))
}

/// Reads an object, if it exists. Names that no object can have, and kinds that cannot be read, count as missing.
pub(super) async fn find(
    live: &Live,
    account: &Account,
    object: &Coordinates,
) -> Result<Option<Manifest>, Refusal> {
    check_path(object)?;
    let get = Get { target: object_ref(object), reveal: false, anywhere: is_outside(account, object) };
    match live.get(&account.name, get).await {
        Ok(found) => Ok(found.map(Manifest::try_from).transpose()?),
        // Missing as well, and the caller gets the reason: the kind may be misspelt.
        Err(error) if error.kind == ErrorKind::NoKindMatch => {
            let (location, name) = (&*object.namespace, &*object.full_name().to_string());
            let missing = Missing::Manifest { account: account.name.as_str(), location, name };
            Err(Refusal::not_found(format!("{missing}: {}", error.message())))
        }
        Err(error) if error.is_failure() && matches!(error.code, 400 | 404 | 405) => Ok(None),
        Err(error) => Err(unreadable(object.kind.spelling(), account, &error)),
    }
}

/// Error for a cluster that could not be read: 500, as Clouddriver's. If the hub sent no request, since its store failed
/// or it is overloaded, a 503, which callers retry.
pub(super) fn unreadable(what: impl std::fmt::Display, account: &Account, error: &OperationError) -> Refusal {
    let message = format!("Failed to read {what}: (account: {}): {error}", account.name);
    if error.kind.is_transient() { Refusal::unavailable(message) } else { Refusal::internal(message) }
}
