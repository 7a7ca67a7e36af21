//! The items of a batch, to and from the wire.

use std::sync::Arc;

use spindrift_model::{
    Declaration, DeniedScope, Generation, Item, Resource, ScopeDeclaration, ScopeId, ScrubRevision, Upsert,
};

use crate::{InvalidMessage, invalid::text, v1};

pub(crate) fn item(v1::Item { item }: v1::Item) -> Result<Item, InvalidMessage> {
    use v1::item::Item as Wire;
    match item.ok_or(InvalidMessage::missing("item"))? {
        Wire::Declare(declare) => declaration(declare).map(Item::Declare),
        Wire::Begin(v1::Begin { scope, generation }) => {
            Ok(Item::Begin { scope: ScopeId(scope), generation: Generation(generation) })
        }
        Wire::Upsert(v1::Upsert { scope, namespace, name, uid, resource_version, body }) => {
            if body.is_empty() {
                return Err(InvalidMessage::missing("upsert.body"));
            }
            Ok(Item::Upsert(Upsert {
                scope: ScopeId(scope),
                namespace: namespace.into(),
                name: text("upsert.name", name)?.into(),
                uid: text("upsert.uid", uid)?.into(),
                resource_version: text("upsert.resource_version", resource_version)?.into(),
                body,
            }))
        }
        Wire::Mention(v1::Mention { scope, uids }) => {
            let uid = |uid| text("mention.uids", uid).map(Into::into);
            Ok(Item::Mention {
                scope: ScopeId(scope),
                uids: uids.into_iter().map(uid).collect::<Result<_, _>>()?,
            })
        }
        Wire::Delete(v1::Delete { scope, namespace, name, uid, resource_version }) => Ok(Item::Delete {
            scope: ScopeId(scope),
            namespace: namespace.into(),
            name: text("delete.name", name)?.into(),
            uid: text("delete.uid", uid)?.into(),
            resource_version: text("delete.resource_version", resource_version)?.into(),
        }),
        Wire::End(v1::End { scope, generation, resource_version }) => Ok(Item::End {
            scope: ScopeId(scope),
            generation: Generation(generation),
            resource_version: text("end.resource_version", resource_version)?.into(),
        }),
        Wire::Progress(v1::Progress { scope, resource_version }) => Ok(Item::Progress {
            scope: ScopeId(scope),
            resource_version: text("progress.resource_version", resource_version)?.into(),
        }),
    }
}

pub(crate) fn wire(item: Item) -> v1::Item {
    use v1::item::Item as Wire;
    let item = match item {
        Item::Declare(Declaration { scopes, undiscovered_groups, denied }) => Wire::Declare(v1::Declare {
            scopes: scopes.into_iter().map(wire_scope).collect(),
            undiscovered_groups: undiscovered_groups.iter().map(ToString::to_string).collect(),
            denied: denied
                .into_iter()
                .map(|DeniedScope { id, reason }| v1::DeniedScope { scope: id.0, reason })
                .collect(),
        }),
        Item::Begin { scope, generation } => {
            Wire::Begin(v1::Begin { scope: scope.0, generation: generation.0 })
        }
        Item::Upsert(Upsert { scope, namespace, name, uid, resource_version, body }) => {
            Wire::Upsert(v1::Upsert {
                scope: scope.0,
                namespace: namespace.to_string(),
                name: name.to_string(),
                uid: uid.to_string(),
                resource_version: resource_version.to_string(),
                body,
            })
        }
        Item::Mention { scope, uids } => Wire::Mention(v1::Mention {
            scope: scope.0,
            uids: uids.iter().map(ToString::to_string).collect(),
        }),
        Item::Delete { scope, namespace, name, uid, resource_version } => Wire::Delete(v1::Delete {
            scope: scope.0,
            namespace: namespace.to_string(),
            name: name.to_string(),
            uid: uid.to_string(),
            resource_version: resource_version.to_string(),
        }),
        Item::End { scope, generation, resource_version } => Wire::End(v1::End {
            scope: scope.0,
            generation: generation.0,
            resource_version: resource_version.to_string(),
        }),
        Item::Progress { scope, resource_version } => {
            Wire::Progress(v1::Progress { scope: scope.0, resource_version: resource_version.to_string() })
        }
    };
    v1::Item { item: Some(item) }
}

/// On the wire an empty namespace means all of them.
pub(crate) fn namespace(wire: String) -> Option<Arc<str>> {
    Some(wire).filter(|namespace| !namespace.is_empty()).map(Into::into)
}

fn declaration(
    v1::Declare { scopes, undiscovered_groups, denied }: v1::Declare,
) -> Result<Declaration, InvalidMessage> {
    let scopes = scopes
        .into_iter()
        .enumerate()
        .map(|(i, scope)| declared(scope).map_err(|e| e.within(format_args!("declare.scopes[{i}]"))))
        .collect::<Result<_, _>>()?;
    let denied = denied
        .into_iter()
        .map(|v1::DeniedScope { scope, reason }| DeniedScope { id: ScopeId(scope), reason })
        .collect();
    let undiscovered_groups = undiscovered_groups.into_iter().map(Into::into).collect();
    Ok(Declaration { scopes, undiscovered_groups, denied })
}

fn declared(wire: v1::ScopeDeclaration) -> Result<ScopeDeclaration, InvalidMessage> {
    let v1::ScopeDeclaration { id, group, version, kind, plural, namespaced, namespace, scrub_revision } =
        wire;
    Ok(ScopeDeclaration {
        id: ScopeId(id),
        resource: Resource {
            group: group.into(),
            version: text("version", version)?.into(),
            kind: text("kind", kind)?.into(),
            plural: text("plural", plural)?.into(),
            namespaced,
        },
        namespace: self::namespace(namespace),
        scrub_revision: ScrubRevision(scrub_revision),
    })
}

fn wire_scope(declaration: ScopeDeclaration) -> v1::ScopeDeclaration {
    let ScopeDeclaration { id, resource, namespace, scrub_revision } = declaration;
    let Resource { group, version, kind, plural, namespaced } = resource;
    v1::ScopeDeclaration {
        id: id.0,
        group: group.to_string(),
        version: version.to_string(),
        kind: kind.to_string(),
        plural: plural.to_string(),
        namespaced,
        namespace: namespace.as_deref().unwrap_or_default().to_owned(),
        scrub_revision: scrub_revision.0,
    }
}
