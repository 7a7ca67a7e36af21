//! Live reads: what Spinnaker names, in the agent's words, and what is said when it cannot be read.
//!
//! Clouddriver reads live whatever the cluster lets it: the namespaces of an account bound what is cached and what is
//! changed. An agent does so if it is told to, which is told only where it matters: older ones do not know of it.

use serde_json::Value;
use spindrift_model::{Get, List, ObjectRef};
use spindrift_spinnaker::{Coordinates, Kind, Manifest, Refusal};

use crate::clouddriver::{Account, Live, Trouble};

/// An object in the words of the agent.
pub(super) fn target(object: &Coordinates) -> ObjectRef {
    let (api_version, kind) = named(&object.kind);
    ObjectRef { api_version, kind, namespace: named_namespace(&object.namespace), name: object.name.clone() }
}

/// All objects of a kind in a namespace.
pub(super) fn all(account: &Account, kind: &Kind, namespace: &str) -> List {
    let (api_version, kind) = named(kind);
    let anywhere = !namespace.is_empty() && !account.reaches(namespace);
    let namespace = named_namespace(namespace);
    List { api_version, kind, namespace, label_selector: None, field_selector: None, anywhere }
}

/// Whether an object is outside of the account's namespaces. One that should have a namespace and names none is in that
/// of Kubernetes' choice.
pub(super) fn is_outside(account: &Account, object: &Coordinates) -> bool {
    let namespace = match &*object.namespace {
        "" if object.kind.is("namespace") => &object.name,
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    !account.reaches(namespace)
}

/// Core kinds have but one version, and share their names with kinds of others; of the rest the server knows which version
/// it prefers.
fn named(kind: &Kind) -> (Option<String>, String) {
    match kind.in_kubernetes() {
        (Some(""), kind) => (Some("v1".to_owned()), kind.to_owned()),
        (Some(group), kind) => (None, format!("{kind}.{group}")),
        (None, kind) => (None, kind.to_owned()),
    }
}

/// Where Kubernetes puts what names no namespace, and keeps the events of what has none.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

fn named_namespace(namespace: &str) -> Option<String> {
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

/// The objects of a list; API servers leave out what they all have in common.
pub(super) async fn list(
    live: &Live,
    account: &Account,
    kind: &Kind,
    list: List,
) -> Result<Vec<Manifest>, Trouble> {
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

/// One object of an account, if there is one. Names that no object can have, and kinds that cannot be read, are as good as
/// missing.
pub(super) async fn find(
    live: &Live,
    account: &Account,
    object: &Coordinates,
) -> Result<Option<Manifest>, Refusal> {
    let get = Get { target: target(object), reveal: false, anywhere: is_outside(account, object) };
    match live.get(&account.name, get).await {
        Ok(found) => Ok(found.map(Manifest::try_from).transpose()?),
        Err(Trouble::Failed(status)) if matches!(status.code, 400 | 404 | 405) => Ok(None),
        Err(trouble) => Err(unreadable(object.kind.spelling(), account, &trouble)),
    }
}

/// A cluster that could not be read: a 500, as Clouddriver's. A hub that asked nobody, since its store did not answer or it
/// has too much to do, is to be asked again.
pub(super) fn unreadable(what: impl std::fmt::Display, account: &Account, trouble: &Trouble) -> Refusal {
    let message = format!("Failed to read {what}: (account: {}): {trouble}", account.name);
    if trouble.is_passing() { Refusal::unavailable(message) } else { Refusal::internal(message) }
}

#[cfg(test)]
mod tests {
    use spindrift_spinnaker::FullName;

    use super::*;

    #[test]
    fn kinds_are_named_so_that_no_other_is_meant() {
        let table = [
            ("deploy web", None, "Deployment.apps"),
            ("pod web", Some("v1"), "Pod"),
            ("crontab.stable.example.com web", None, "crontab.stable.example.com"),
            ("wibble web", None, "wibble"),
        ];
        for (name, api_version, kind) in table {
            let named = target(&FullName::parse(name).unwrap().at("shop"));
            assert_eq!((named.api_version.as_deref(), named.kind.as_str()), (api_version, kind));
            assert_eq!((named.namespace.as_deref(), named.name.as_str()), (Some("shop"), "web"));
        }
        assert_eq!(target(&FullName::parse("crd x").unwrap().at("")).namespace, None);
    }
}
