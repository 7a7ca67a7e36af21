//! `cachingPolicies`: the largest number of objects of a kind that are sent to the hub.
//!
//! Clouddriver lists all objects every half minute, and keeps the first so many. Here the objects that are listed first are
//! within the quota, over all namespaces; when one is deleted, the next object that is listed or changes takes its place.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use spindrift_model::{Scope, ScrubRevision, Uid};

use super::{selection::SelectedScope, stable_hash};

/// Quota of one kind, which its scopes share.
#[derive(Debug)]
pub(super) struct Quota {
    limit: usize,
    held: Mutex<BTreeMap<Scope, HashSet<Uid>>>,
}

/// Quotas of an account.
#[derive(Debug, Default)]
pub(super) struct Quotas(BTreeMap<String, Arc<Quota>>);

// === impl Quotas ===

impl Quotas {
    /// Returns the quota of a kind, if it has one.
    pub(super) fn of(&mut self, selected: &SelectedScope) -> Option<Arc<Quota>> {
        let limit = selected.limit?;
        let quota =
            self.0.entry(selected.resource.kind_and_group()).or_insert_with(|| Arc::new(Quota::new(limit)));
        Some(quota.clone())
    }

    /// Frees the part of a scope that is not watched any more.
    pub(super) fn leave(&self, scope: &Scope) {
        self.0.values().for_each(|quota| quota.clear(scope));
    }
}

/// Returns the scrub revision with this limit. Another limit has another revision, so that the scope is listed again.
pub(super) fn revise(by_rules: ScrubRevision, limit: Option<usize>) -> ScrubRevision {
    let Some(limit) = limit else { return by_rules };
    let hash = stable_hash(["cachingPolicies", &limit.to_string()]);
    ScrubRevision(by_rules.0 ^ u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default())
}

// === impl Quota ===

impl Quota {
    fn new(limit: usize) -> Self {
        Self { limit, held: Mutex::default() }
    }

    /// Frees the part of a scope whose list begins, or that is not watched any more.
    pub(super) fn clear(&self, scope: &Scope) {
        self.held.lock().remove(scope);
    }

    /// Whether an object is within the quota, or fits into it now.
    pub(super) fn admits(&self, scope: &Scope, uid: &Uid) -> bool {
        let mut held = self.held.lock();
        if held.get(scope).is_some_and(|uids| uids.contains(uid)) {
            return true;
        }
        let is_free = held.values().map(HashSet::len).sum::<usize>() < self.limit;
        is_free && held.entry(scope.clone()).or_default().insert(uid.clone())
    }

    /// Removes a deleted object. Returns whether it was within the quota.
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
    fn a_quota_spans_all_namespaces_and_is_freed_by_deletions() {
        let (quota, a, b) = (Quota::new(2), scope("a"), scope("b"));
        let admits = |scope: &Scope, uid: &str| quota.admits(scope, &uid.into());
        assert!(admits(&a, "1") && admits(&b, "2") && !admits(&b, "3"));
        assert!(admits(&a, "1"), "an object within the quota stays there");
        assert!(!quota.release(&b, &"3".into()), "it was never sent to the hub");
        assert!(quota.release(&a, &"1".into()) && admits(&b, "3") && !admits(&a, "4"));
        quota.clear(&b);
        assert!(admits(&a, "4") && admits(&a, "5") && !admits(&b, "2"));
        assert!(!Quota::new(0).admits(&a, &"1".into()));
    }

    #[test]
    fn a_change_of_the_quota_is_a_change_of_the_revision() {
        let revision = |limit| revise(ScrubRevision(7), limit);
        assert_eq!(revision(None), ScrubRevision(7));
        assert_ne!(revision(Some(1)), revision(Some(2)));
        assert_ne!(revision(Some(1)), revision(None));
    }
}
