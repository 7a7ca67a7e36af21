//! `cachingPolicies`: how many objects of a kind the hub is told of at most.
//!
//! Clouddriver lists all objects every half minute, and keeps the first so many. Here those that are listed first have a
//! place, over all namespaces; one that becomes free is taken by whatever is listed or changes next.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use spindrift_model::{Scope, ScrubRevision, Uid};

use super::{selection::Chosen, stable_hash};

/// The places of one kind, which its scopes share.
#[derive(Debug)]
pub(super) struct Quota {
    most: usize,
    held: Mutex<BTreeMap<Scope, HashSet<Uid>>>,
}

/// The quotas of an account.
#[derive(Debug, Default)]
pub(super) struct Quotas(BTreeMap<String, Arc<Quota>>);

// === impl Quotas ===

impl Quotas {
    /// That of a kind, if it has one.
    pub(super) fn of(&mut self, chosen: &Chosen) -> Option<Arc<Quota>> {
        let most = chosen.most?;
        let quota =
            self.0.entry(chosen.resource.kind_and_group()).or_insert_with(|| Arc::new(Quota::new(most)));
        Some(quota.clone())
    }

    /// A scope is watched no more: its places are free.
    pub(super) fn leave(&self, scope: &Scope) {
        self.0.values().for_each(|quota| quota.clear(scope));
    }
}

/// Another quota gives another revision: what the hub has by the old one has to be listed again.
pub(super) fn revise(by_rules: ScrubRevision, most: Option<usize>) -> ScrubRevision {
    let Some(most) = most else { return by_rules };
    let hash = stable_hash(["cachingPolicies", &most.to_string()]);
    ScrubRevision(by_rules.0 ^ u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default())
}

// === impl Quota ===

impl Quota {
    fn new(most: usize) -> Self {
        Self { most, held: Mutex::default() }
    }

    /// A scope is listed from its beginning, or not watched any more.
    pub(super) fn clear(&self, scope: &Scope) {
        self.held.lock().remove(scope);
    }

    /// Whether the hub is told of an object: if it has a place, or gets one.
    pub(super) fn admits(&self, scope: &Scope, uid: &Uid) -> bool {
        let mut held = self.held.lock();
        if held.get(scope).is_some_and(|uids| uids.contains(uid)) {
            return true;
        }
        let is_free = held.values().map(HashSet::len).sum::<usize>() < self.most;
        is_free && held.entry(scope.clone()).or_default().insert(uid.clone())
    }

    /// An object is gone. Whether the hub knew it.
    pub(super) fn release(&self, scope: &Scope, uid: &Uid) -> bool {
        self.held.lock().get_mut(scope).is_some_and(|uids| uids.remove(uid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(namespace: &str) -> Scope {
        Scope { group: "".into(), kind: "Pod".into(), namespace: Some(namespace.into()) }
    }

    #[test]
    fn places_are_of_all_namespaces_and_free_when_an_object_is_gone() {
        let (quota, a, b) = (Quota::new(2), scope("a"), scope("b"));
        let admits = |scope: &Scope, uid: &str| quota.admits(scope, &uid.into());
        assert!(admits(&a, "1") && admits(&b, "2") && !admits(&b, "3"));
        assert!(admits(&a, "1"), "who has a place keeps it");
        assert!(!quota.release(&b, &"3".into()), "the hub never heard of it");
        assert!(quota.release(&a, &"1".into()) && admits(&b, "3") && !admits(&a, "4"));
        quota.clear(&b);
        assert!(admits(&a, "4") && admits(&a, "5") && !admits(&b, "2"));
        assert!(!Quota::new(0).admits(&a, &"1".into()));
    }

    #[test]
    fn a_change_of_the_quota_is_a_change_of_the_revision() {
        let revision = |most| revise(ScrubRevision(7), most);
        assert_eq!(revision(None), ScrubRevision(7));
        assert_ne!(revision(Some(1)), revision(Some(2)));
        assert_ne!(revision(Some(1)), revision(None));
    }
}
