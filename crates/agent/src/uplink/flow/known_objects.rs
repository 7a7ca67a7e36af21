//! Objects that the hub already has: a list only mentions them.

use std::collections::HashMap;

use parking_lot::Mutex;
use spindrift_model::{
    ApiVersion, Declaration, Fingerprint, Generation, Item, Salt, ScopeId, ScrubRevision, Upsert,
};
use spindrift_protocol::{Known, flow::MAX_FINGERPRINTS};
use tokio::sync::Notify;

/// Fingerprints of the hub's objects, for the scopes that are being listed.
///
/// The hub answers every `Begin` with the fingerprints of the objects that it has; objects of that list wait for the
/// answer. Eight bytes per object are held until the list ends.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    scopes: Mutex<HashMap<ScopeId, DeclaredScope>>,
    answered: Notify,
}

#[derive(Debug)]
struct DeclaredScope {
    api_version: ApiVersion,
    scrub_revision: ScrubRevision,
    list: Option<CurrentList>,
}

#[derive(Debug)]
struct CurrentList {
    generation: Generation,
    salt: Salt,
    /// Sorted, once the answer is complete.
    known: Vec<Fingerprint>,
    complete: bool,
}

// === impl KnownObjects ===

impl KnownObjects {
    /// Replaces an object that the hub has in this version by a mention; keeps track of the scopes and their lists.
    pub(super) async fn replace_known(&self, item: Item) -> Item {
        match &item {
            Item::Declare(declaration) => self.declare(declaration),
            Item::Begin { scope, generation } => self.begin(*scope, *generation),
            Item::End { scope, .. } => self.end(*scope),
            Item::Upsert(upsert) if self.is_known(upsert).await => {
                return Item::Mention { scope: upsert.scope, uids: vec![upsert.uid.clone()] };
            }
            Item::Upsert(_) | Item::Mention { .. } | Item::Delete { .. } | Item::Progress { .. } => {}
        }
        item
    }

    /// Adds a part of the hub's answer.
    pub(super) fn add(&self, answer: Known) {
        let Known { scope, generation, salt, fingerprints, last } = answer;
        let mut scopes = self.scopes.lock();
        let list = scopes.get_mut(&scope).and_then(|scope| scope.list.as_mut());
        // The answer to a list that was interrupted and began again is dropped.
        let Some(list) = list.filter(|list| list.generation == generation) else { return };
        list.salt = salt;
        if list.known.len() + fingerprints.len() <= MAX_FINGERPRINTS {
            list.known.extend(fingerprints);
        }
        if last {
            list.known.shrink_to_fit();
            list.known.sort_unstable();
            list.complete = true;
            self.answered.notify_waiters();
        }
    }

    fn declare(&self, declaration: &Declaration) {
        let mut scopes = self.scopes.lock();
        let mut before = std::mem::take(&mut *scopes);
        for declared in &declaration.scopes {
            let list = before.remove(&declared.id).and_then(|scope| scope.list);
            let api_version = declared.resource.version.clone();
            scopes.insert(
                declared.id,
                DeclaredScope { api_version, scrub_revision: declared.scrub_revision, list },
            );
        }
    }

    fn begin(&self, scope: ScopeId, generation: Generation) {
        if let Some(scope) = self.scopes.lock().get_mut(&scope) {
            let list = CurrentList { generation, salt: Salt(0), known: Vec::new(), complete: false };
            scope.list = Some(list);
        }
    }

    fn end(&self, scope: ScopeId) {
        if let Some(scope) = self.scopes.lock().get_mut(&scope) {
            scope.list = None;
        }
    }

    /// Whether the hub has the object in this version. Waits for the hub's answer.
    async fn is_known(&self, upsert: &Upsert) -> bool {
        loop {
            let answered = self.answered.notified();
            {
                let scopes = self.scopes.lock();
                let Some(scope) = scopes.get(&upsert.scope) else { return false };
                let Some(list) = &scope.list else { return false };
                if list.complete {
                    let Upsert { uid, resource_version, .. } = upsert;
                    let salt = list.salt;
                    let fingerprint =
                        salt.fingerprint(uid, resource_version, &scope.api_version, scope.scrub_revision);
                    return list.known.binary_search(&fingerprint).is_ok();
                }
            }
            answered.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::FutureExt;
    use spindrift_model::{Resource, ScopeDeclaration};

    use super::*;

    const SCOPE: ScopeId = ScopeId(3);

    fn declaration() -> Item {
        let resource = Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        };
        let scope =
            ScopeDeclaration { id: SCOPE, resource, namespace: None, scrub_revision: ScrubRevision(1) };
        Item::Declare(Declaration { scopes: vec![scope], ..Declaration::default() })
    }

    fn begin(generation: u64) -> Item {
        Item::Begin { scope: SCOPE, generation: Generation(generation) }
    }

    fn pod(uid: &str, version: &str) -> Item {
        Item::Upsert(Upsert {
            scope: SCOPE,
            namespace: "n".into(),
            name: "a".into(),
            uid: uid.into(),
            resource_version: version.into(),
            body: Bytes::from_static(b"{}"),
        })
    }

    fn answer(generation: u64, has: &[(&str, &str)]) -> Known {
        let salt = Salt(generation * 7);
        let print = |(uid, version): &(&str, &str)| {
            salt.fingerprint(&(*uid).into(), &(*version).into(), &"v1".into(), ScrubRevision(1))
        };
        let fingerprints = has.iter().map(print).collect();
        Known { scope: SCOPE, generation: Generation(generation), salt, fingerprints, last: true }
    }

    async fn is_mentioned(known_objects: &KnownObjects, uid: &str, version: &str) -> bool {
        matches!(known_objects.replace_known(pod(uid, version)).await, Item::Mention { uids, .. } if uids == [uid.into()])
    }

    #[tokio::test]
    async fn objects_of_a_list_wait_for_the_answer_and_those_that_the_hub_has_are_mentioned() {
        let known_objects = KnownObjects::default();
        for item in [declaration(), begin(1)] {
            known_objects.replace_known(item).await;
        }
        let mut waiting = Box::pin(is_mentioned(&known_objects, "1", "10"));
        assert!(waiting.as_mut().now_or_never().is_none(), "the hub has not answered");
        known_objects.add(answer(1, &[("1", "10"), ("2", "20")]));
        assert!(waiting.await);
        assert!(is_mentioned(&known_objects, "2", "20").await);
        assert!(!is_mentioned(&known_objects, "2", "21").await, "another version");
        assert!(!is_mentioned(&known_objects, "3", "10").await, "another object");

        known_objects
            .replace_known(Item::End {
                scope: SCOPE,
                generation: Generation(1),
                resource_version: "30".into(),
            })
            .await;
        assert!(!is_mentioned(&known_objects, "1", "10").await, "a watch sends every change");
    }

    #[tokio::test]
    async fn a_list_that_begins_again_drops_the_answer_to_the_one_before() {
        let known_objects = KnownObjects::default();
        for item in [declaration(), begin(1)] {
            known_objects.replace_known(item).await;
        }
        known_objects.add(answer(1, &[("1", "10")]));
        known_objects.replace_known(begin(2)).await;
        known_objects.add(answer(1, &[("1", "10")]));
        assert!(
            is_mentioned(&known_objects, "1", "10").now_or_never().is_none(),
            "the late answer belongs to the first list"
        );
        known_objects.add(answer(2, &[]));
        assert!(!is_mentioned(&known_objects, "1", "10").await);
    }
}
