//! What the hub has already: objects of a listing that need only be mentioned.

use std::collections::HashMap;

use parking_lot::Mutex;
use spindrift_model::{
    ApiVersion, Declaration, Fingerprint, Generation, Item, Salt, ScopeId, ScrubRevision, Upsert,
};
use spindrift_protocol::{Known, flow::MAX_FINGERPRINTS};
use tokio::sync::Notify;

/// What the hub said it has of the scopes that are being listed.
///
/// The hub answers every beginning of a listing with the fingerprints of what it has; objects of that listing wait for
/// the answer. Eight bytes per object are held until the listing ends.
#[derive(Debug, Default)]
pub(super) struct Recall {
    scopes: Mutex<HashMap<ScopeId, Scope>>,
    answered: Notify,
}

#[derive(Debug)]
struct Scope {
    api_version: ApiVersion,
    scrub_revision: ScrubRevision,
    listing: Option<Listing>,
}

#[derive(Debug)]
struct Listing {
    generation: Generation,
    salt: Salt,
    /// Sorted, once the answer is complete.
    known: Vec<Fingerprint>,
    complete: bool,
}

// === impl Recall ===

impl Recall {
    /// Follows a scope's items; an object that the hub has as it is becomes a mention.
    pub(super) async fn shorten(&self, item: Item) -> Item {
        match &item {
            Item::Declare(declaration) => self.declare(declaration),
            Item::Begin { scope, generation } => self.begin(*scope, *generation),
            Item::End { scope, .. } => self.end(*scope),
            Item::Upsert(upsert) if self.knows(upsert).await => {
                return Item::Mention { scope: upsert.scope, uids: vec![upsert.uid.clone()] };
            }
            Item::Upsert(_) | Item::Mention { .. } | Item::Delete { .. } | Item::Progress { .. } => {}
        }
        item
    }

    /// Takes a part of the hub's answer.
    pub(super) fn answer(&self, answer: Known) {
        let Known { scope, generation, salt, fingerprints, last } = answer;
        let mut scopes = self.scopes.lock();
        let listing = scopes.get_mut(&scope).and_then(|scope| scope.listing.as_mut());
        // That of a listing which broke off, and began again, comes to nothing.
        let Some(listing) = listing.filter(|listing| listing.generation == generation) else { return };
        listing.salt = salt;
        if listing.known.len() + fingerprints.len() <= MAX_FINGERPRINTS {
            listing.known.extend(fingerprints);
        }
        if last {
            listing.known.shrink_to_fit();
            listing.known.sort_unstable();
            listing.complete = true;
            self.answered.notify_waiters();
        }
    }

    fn declare(&self, declaration: &Declaration) {
        let mut scopes = self.scopes.lock();
        let mut before = std::mem::take(&mut *scopes);
        for declared in &declaration.scopes {
            let listing = before.remove(&declared.id).and_then(|scope| scope.listing);
            let api_version = declared.resource.version.clone();
            scopes
                .insert(declared.id, Scope { api_version, scrub_revision: declared.scrub_revision, listing });
        }
    }

    fn begin(&self, scope: ScopeId, generation: Generation) {
        if let Some(scope) = self.scopes.lock().get_mut(&scope) {
            let listing = Listing { generation, salt: Salt(0), known: Vec::new(), complete: false };
            scope.listing = Some(listing);
        }
    }

    fn end(&self, scope: ScopeId) {
        if let Some(scope) = self.scopes.lock().get_mut(&scope) {
            scope.listing = None;
        }
    }

    /// Whether the hub has this very version, as soon as its answer is there.
    async fn knows(&self, upsert: &Upsert) -> bool {
        loop {
            let answered = self.answered.notified();
            {
                let scopes = self.scopes.lock();
                let Some(scope) = scopes.get(&upsert.scope) else { return false };
                let Some(listing) = &scope.listing else { return false };
                if listing.complete {
                    let Upsert { uid, resource_version, .. } = upsert;
                    let salt = listing.salt;
                    let fingerprint =
                        salt.fingerprint(uid, resource_version, &scope.api_version, scope.scrub_revision);
                    return listing.known.binary_search(&fingerprint).is_ok();
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

    async fn is_mentioned(recall: &Recall, uid: &str, version: &str) -> bool {
        matches!(recall.shorten(pod(uid, version)).await, Item::Mention { uids, .. } if uids == [uid.into()])
    }

    #[tokio::test]
    async fn objects_of_a_listing_wait_for_the_answer_and_those_that_the_hub_has_are_mentioned() {
        let recall = Recall::default();
        for item in [declaration(), begin(1)] {
            recall.shorten(item).await;
        }
        let mut waiting = Box::pin(is_mentioned(&recall, "1", "10"));
        assert!(waiting.as_mut().now_or_never().is_none(), "the hub has not answered");
        recall.answer(answer(1, &[("1", "10"), ("2", "20")]));
        assert!(waiting.await);
        assert!(is_mentioned(&recall, "2", "20").await);
        assert!(!is_mentioned(&recall, "2", "21").await, "another version");
        assert!(!is_mentioned(&recall, "3", "10").await, "another object");

        recall
            .shorten(Item::End { scope: SCOPE, generation: Generation(1), resource_version: "30".into() })
            .await;
        assert!(!is_mentioned(&recall, "1", "10").await, "a watch says all it has to say");
    }

    #[tokio::test]
    async fn a_listing_that_begins_again_forgets_the_answer_to_the_one_before() {
        let recall = Recall::default();
        for item in [declaration(), begin(1)] {
            recall.shorten(item).await;
        }
        recall.answer(answer(1, &[("1", "10")]));
        recall.shorten(begin(2)).await;
        recall.answer(answer(1, &[("1", "10")]));
        assert!(
            is_mentioned(&recall, "1", "10").now_or_never().is_none(),
            "the late answer is not this one's"
        );
        recall.answer(answer(2, &[]));
        assert!(!is_mentioned(&recall, "1", "10").await);
    }
}
