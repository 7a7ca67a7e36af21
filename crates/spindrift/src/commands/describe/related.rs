//! Cached objects that a description needs besides its own.

use futures::TryStreamExt;
use serde_json::Value;
use spindrift_printer::{KindRef, RelatedKind, RelatedObjects, RelatedScope, related_kinds};

use crate::{
    commands::get::{FetchedObject, Target},
    hub::{ApiResource, Client, Page, Selection},
};

/// Namespace with a lease for each node.
const NODE_LEASES: &str = "kube-node-lease";

/// Requests the related objects of cached kinds.
pub(super) async fn fetch_related(
    hub: &Client,
    cached: &[ApiResource],
    target: &Target,
    object: &FetchedObject,
) -> anyhow::Result<RelatedObjects> {
    let text = |pointer| object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = KindRef { group: &target.resource.group, kind: &target.resource.kind };
    let mut related = RelatedObjects::default();
    for RelatedKind { group, kind, within } in related_kinds(kind) {
        let Some(resource) = cached.iter().find(|cached| cached.group == *group && cached.kind == *kind)
        else {
            continue;
        };
        let mut selection = Selection {
            account: Some(object.account.clone()),
            kind: Some(resource.pattern()),
            ..Selection::default()
        };
        match within {
            RelatedScope::SameNamespace => selection.namespace = Some(text("/metadata/namespace")),
            RelatedScope::OwnNamespace => selection.namespace = Some(text("/metadata/name")),
            RelatedScope::OnNode => {
                selection.field_selector = Some(format!("spec.nodeName={}", text("/metadata/name")));
            }
            RelatedScope::NodeLeases => {
                selection.namespace = Some(NODE_LEASES.to_owned());
                selection.name = Some(text("/metadata/name"));
            }
        }
        let mut objects = Vec::new();
        let mut pages = std::pin::pin!(hub.pages(selection));
        while let Some(Page { items, .. }) = pages.try_next().await? {
            for item in items {
                objects.push(serde_json::from_str(item.object.get())?);
            }
        }
        related.add(kind, objects);
    }
    Ok(related)
}
