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
                namespace: short("upsert.namespace", namespace)?.into(),
                name: short("upsert.name", text("upsert.name", name)?)?.into(),
                uid: short("upsert.uid", text("upsert.uid", uid)?)?.into(),
                resource_version: version("upsert.resource_version", resource_version)?.into(),
                body,
            }))
        }
        Wire::Mention(v1::Mention { scope, uids }) => {
            if uids.is_empty() {
                return Err(InvalidMessage::missing("mention.uids"));
            }
            let uid = |uid| short("mention.uids", text("mention.uids", uid)?).map(Into::into);
            Ok(Item::Mention {
                scope: ScopeId(scope),
                uids: uids.into_iter().map(uid).collect::<Result<_, _>>()?,
            })
        }
        Wire::Delete(v1::Delete { scope, namespace, name, uid, resource_version }) => Ok(Item::Delete {
            scope: ScopeId(scope),
            namespace: short("delete.namespace", namespace)?.into(),
            name: short("delete.name", text("delete.name", name)?)?.into(),
            uid: short("delete.uid", text("delete.uid", uid)?)?.into(),
            resource_version: version("delete.resource_version", resource_version)?.into(),
        }),
        Wire::End(v1::End { scope, generation, resource_version }) => Ok(Item::End {
            scope: ScopeId(scope),
            generation: Generation(generation),
            resource_version: version("end.resource_version", resource_version)?.into(),
        }),
        Wire::Progress(v1::Progress { scope, resource_version }) => Ok(Item::Progress {
            scope: ScopeId(scope),
            resource_version: version("progress.resource_version", resource_version)?.into(),
        }),
    }
}

/// Longest name, namespace, uid or resource version. Flow control counts an item as 256 bytes beside its body, so these
/// may not be arbitrarily long; Kubernetes' names have 253 bytes at most.
const LONGEST_TEXT: usize = 1024;

fn short(field: &str, value: String) -> Result<String, InvalidMessage> {
    if value.len() <= LONGEST_TEXT {
        return Ok(value);
    }
    Err(InvalidMessage::new(field, format!("expected at most {LONGEST_TEXT} bytes, got {}", value.len())))
}

fn version(field: &str, value: String) -> Result<String, InvalidMessage> {
    short(field, text(field, value)?)
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
        .collect::<Result<Vec<_>, _>>()?;
    // Flow control counts scopes only; the others are few, and short.
    if denied.len() > scopes.len() {
        return Err(InvalidMessage::new("declare.denied", "expected at most as many as scopes"));
    }
    if undiscovered_groups.len() > MOST_GROUPS {
        return Err(InvalidMessage::new(
            "declare.undiscovered_groups",
            format!("expected at most {MOST_GROUPS}"),
        ));
    }
    let denied = denied
        .into_iter()
        .map(|v1::DeniedScope { scope, mut reason }| {
            reason.truncate(reason.floor_char_boundary(LONGEST_TEXT));
            DeniedScope { id: ScopeId(scope), reason }
        })
        .collect();
    let undiscovered_groups = undiscovered_groups
        .into_iter()
        .map(|group| short("declare.undiscovered_groups", group).map(Into::into))
        .collect::<Result<_, _>>()?;
    Ok(Declaration { scopes, undiscovered_groups, denied })
}

/// API groups of a cluster whose discovery failed; a cluster has some hundred groups at most.
const MOST_GROUPS: usize = 4096;

fn declared(wire: v1::ScopeDeclaration) -> Result<ScopeDeclaration, InvalidMessage> {
    let v1::ScopeDeclaration { id, group, version, kind, plural, namespaced, namespace, scrub_revision } =
        wire;
    Ok(ScopeDeclaration {
        id: ScopeId(id),
        resource: Resource {
            group: short("group", group)?.into(),
            version: self::version("version", version)?.into(),
            kind: short("kind", text("kind", kind)?)?.into(),
            plural: short("plural", text("plural", plural)?)?.into(),
            namespaced,
        },
        namespace: self::namespace(short("namespace", namespace)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn upsert(name: String) -> v1::Item {
        let upsert = v1::Upsert {
            scope: 1,
            namespace: "n".into(),
            name,
            uid: "u".into(),
            resource_version: "1".into(),
            body: "{}".into(),
        };
        v1::Item { item: Some(v1::item::Item::Upsert(upsert)) }
    }

    fn refused(wire: v1::item::Item) -> String {
        item(v1::Item { item: Some(wire) }).unwrap_err().to_string()
    }

    #[test]
    fn names_cannot_be_longer_than_flow_control_allows_for() {
        assert!(item(upsert("x".repeat(LONGEST_TEXT))).is_ok());
        let error = item(upsert("x".repeat(LONGEST_TEXT + 1))).unwrap_err();
        assert_eq!(error.to_string(), "upsert.name: expected at most 1024 bytes, got 1025");
    }

    #[test]
    fn every_item_costs_credit() {
        let nothing = v1::Mention { scope: 1, uids: vec![] };
        assert_eq!(refused(v1::item::Item::Mention(nothing)), "mention.uids: is missing");
    }

    #[test]
    fn a_declaration_is_as_large_as_its_scopes() {
        let denied = |reason: &str| vec![v1::DeniedScope { scope: 1, reason: reason.into() }];
        let more = v1::Declare { denied: denied("no"), ..v1::Declare::default() };
        let expected = "declare.denied: expected at most as many as scopes";
        assert_eq!(refused(v1::item::Item::Declare(more)), expected);

        let scope = v1::ScopeDeclaration {
            id: 1,
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            ..v1::ScopeDeclaration::default()
        };
        let long = v1::Declare {
            scopes: vec![scope],
            denied: denied(&"€".repeat(LONGEST_TEXT)),
            ..v1::Declare::default()
        };
        let read = item(v1::Item { item: Some(v1::item::Item::Declare(long)) }).unwrap();
        let Item::Declare(declaration) = read else { panic!("a declaration") };
        assert_eq!(declaration.denied[0].reason, "€".repeat(LONGEST_TEXT / 3), "cut, but not refused");

        let groups = vec![String::new(); MOST_GROUPS + 1];
        let many = v1::Declare { undiscovered_groups: groups, ..v1::Declare::default() };
        assert_eq!(
            refused(v1::item::Item::Declare(many)),
            "declare.undiscovered_groups: expected at most 4096"
        );
    }
}
