//! Scopes that an account may read: reviewed once per namespace, updated by refusals, kept over sessions.
//!
//! A kind is watched only if it may be both listed and watched. An access review spares the API server requests that it
//! would refuse (and its audit log the entries), but only a real request decides: a review may be incomplete.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use spindrift_kubernetes::{Access, AccessRules, Api};
use spindrift_model::{Resource, Scope};
use spindrift_process::report;
use tokio::time::{Instant, timeout};
use tracing::debug;

/// Verbs that a watch needs.
const VERBS: [&str; 2] = ["list", "watch"];
/// Concurrent reviews; there is one per namespace.
const CONCURRENT_REVIEWS: usize = 8;
/// Deadline of a review. Without a response the watches find out by themselves.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);
/// Namespace of the review for scopes of all namespaces: cluster-wide rules are part of every review, and this namespace
/// always exists.
const ANY_NAMESPACE: &str = "default";

/// Permissions of one account, as far as they are known.
#[derive(Debug, Default)]
pub struct KnownPermissions {
    known: Mutex<BTreeMap<Scope, Permission>>,
}

#[derive(Debug, Clone)]
enum Permission {
    /// No review and no request has denied it.
    Allowed,
    /// A watch has read it.
    Read,
    Denied(Denial),
}

/// Denial of a scope.
#[derive(Debug, Clone)]
pub(crate) struct Denial {
    pub(crate) reason: String,
    /// Time of the last check.
    pub(crate) checked: Instant,
    /// Set once it was logged.
    reported: bool,
}

// === impl KnownPermissions ===

impl KnownPermissions {
    /// Reviews scopes of which nothing is known yet, once per process: a new session must not wait for reviews that were
    /// done before.
    pub(crate) async fn review(&self, api: &Api, scopes: Vec<(Scope, Resource)>) {
        let mut by_namespace: BTreeMap<Arc<str>, Vec<(Scope, Resource)>> = BTreeMap::new();
        {
            let known = self.known.lock();
            for (scope, resource) in scopes.into_iter().filter(|(scope, _)| !known.contains_key(scope)) {
                let namespace = scope.namespace.clone().unwrap_or_else(|| ANY_NAMESPACE.into());
                by_namespace.entry(namespace).or_default().push((scope, resource));
            }
        }
        let reviews: Vec<BoxFuture<'_, ()>> = by_namespace
            .into_iter()
            .map(|(namespace, scopes)| self.review_namespace(api, namespace, scopes).boxed())
            .collect();
        let answers = stream::iter(reviews).buffer_unordered(CONCURRENT_REVIEWS).collect::<()>();
        if timeout(REVIEW_TIMEOUT * 2, answers).await.is_err() {
            debug!("access reviews exceeded their deadline; scopes without a review are tried");
        }
    }

    async fn review_namespace(&self, api: &Api, namespace: Arc<str>, scopes: Vec<(Scope, Resource)>) {
        let rules = match timeout(REVIEW_TIMEOUT, api.access_rules(&namespace)).await {
            Ok(Ok(rules)) => Some(rules),
            Ok(Err(error)) => {
                debug!(%namespace, error = report(&error), "access review failed");
                None
            }
            Err(_) => None,
        };
        for (scope, resource) in scopes {
            let lacks = |rules: &AccessRules| VERBS.iter().any(|verb| rules.lack(verb, &resource));
            // Rules are a summary that some authorizers do not contribute to; the access review involves all of them.
            let denied = match &rules {
                Some(rules) if lacks(rules) => denied(api, &scope, &resource).await,
                _ => None,
            };
            match denied {
                Some(reason) => self.deny(&scope, reason),
                None => self.allow(&scope),
            }
        }
    }

    /// Reviews a denied scope again. Returns true unless the API server still denies it.
    pub(crate) async fn may_be_allowed(&self, api: &Api, scope: &Scope, resource: &Resource) -> bool {
        match denied(api, scope, resource).await {
            Some(reason) => {
                self.deny(scope, reason);
                false
            }
            None => true,
        }
    }

    pub(crate) fn deny(&self, scope: &Scope, reason: String) {
        let mut known = self.known.lock();
        let reported = matches!(known.get(scope), Some(Permission::Denied(Denial { reported: true, .. })));
        let denial = Denial { reason, checked: Instant::now(), reported };
        known.insert(scope.clone(), Permission::Denied(denial));
    }

    /// Whether the denial was not logged yet; true once per denial, also over sessions.
    pub(crate) fn is_unreported(&self, scope: &Scope) -> bool {
        match self.known.lock().get_mut(scope) {
            Some(Permission::Denied(denial)) => !std::mem::replace(&mut denial.reported, true),
            _ => false,
        }
    }

    pub(crate) fn allow(&self, scope: &Scope) {
        self.known.lock().insert(scope.clone(), Permission::Allowed);
    }

    pub(crate) fn read(&self, scope: &Scope) {
        self.known.lock().insert(scope.clone(), Permission::Read);
    }

    pub(crate) fn was_read(&self, scope: &Scope) -> bool {
        matches!(self.known.lock().get(scope), Some(Permission::Read))
    }

    /// Removes a scope that does not exist any more; should it come back, it is reviewed again.
    pub(crate) fn remove(&self, scope: &Scope) {
        self.known.lock().remove(scope);
    }

    pub(crate) fn denial(&self, scope: &Scope) -> Option<Denial> {
        match self.known.lock().get(scope) {
            Some(Permission::Denied(denial)) => Some(denial.clone()),
            Some(Permission::Allowed | Permission::Read) | None => None,
        }
    }
}

/// Returns the reason for which the scope may not be listed and watched; none if it may, or if the review fails.
async fn denied(api: &Api, scope: &Scope, resource: &Resource) -> Option<String> {
    let mut missing = Vec::new();
    for verb in VERBS {
        let access = Access { verb, resource, namespace: scope.namespace.as_deref(), name: None };
        let allowed = timeout(REVIEW_TIMEOUT, api.may(access)).await.ok()?.ok()?;
        if !allowed {
            missing.push(verb);
        }
    }
    let Resource { plural, group, namespaced, .. } = resource;
    let full = if group.is_empty() { plural.to_string() } else { format!("{plural}.{group}") };
    let place = match &scope.namespace {
        Some(namespace) => format!(" in namespace {namespace}"),
        None if *namespaced => " in all namespaces".into(),
        None => String::new(),
    };
    (!missing.is_empty()).then(|| format!("{} of {full}{place} is forbidden", missing.join(" and ")))
}
