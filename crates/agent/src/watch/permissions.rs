//! What an account may read: asked in one question per namespace, learnt from refusals, remembered over sessions.
//!
//! A kind is watched only if it may be both listed and watched. An access review spares the API server requests that it
//! would refuse (and its audit log the entries), but only a real answer decides: reviews may know less than the server.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use spindrift_kubernetes::{Access, AccessRules, Api};
use spindrift_model::{Resource, Scope};
use spindrift_process::report;
use tokio::time::{Instant, timeout};
use tracing::debug;

/// A watch needs both.
const VERBS: [&str; 2] = ["list", "watch"];
/// Questions at a time; there is one per namespace.
const QUESTIONS_AT_A_TIME: usize = 8;
/// A server that does not answer a review in time is not waited for: its watches find out by themselves.
const PATIENCE: Duration = Duration::from_secs(5);
/// What may be done everywhere is part of the answer for every namespace; this one is always there.
const ANY_NAMESPACE: &str = "default";

/// What one account is known to be denied.
#[derive(Debug, Default)]
pub struct Permissions {
    known: Mutex<BTreeMap<Scope, Known>>,
}

#[derive(Debug, Clone)]
enum Known {
    /// Nothing speaks against it.
    Allowed,
    /// It was read.
    Read,
    Denied(Denial),
}

/// Why a scope may not be read.
#[derive(Debug, Clone)]
pub(crate) struct Denial {
    pub(crate) reason: String,
    /// When it was last asked for.
    pub(crate) asked: Instant,
    /// Whether the operator was told.
    announced: bool,
}

// === impl Permissions ===

impl Permissions {
    /// Asks about scopes of which nothing is known yet, once in the life of the process: a session that begins again
    /// must not wait for what was asked before.
    pub(crate) async fn examine(&self, api: &Api, scopes: Vec<(Scope, Resource)>) {
        let mut by_namespace: BTreeMap<Arc<str>, Vec<(Scope, Resource)>> = BTreeMap::new();
        {
            let known = self.known.lock();
            for (scope, resource) in scopes.into_iter().filter(|(scope, _)| !known.contains_key(scope)) {
                let namespace = scope.namespace.clone().unwrap_or_else(|| ANY_NAMESPACE.into());
                by_namespace.entry(namespace).or_default().push((scope, resource));
            }
        }
        let questions: Vec<BoxFuture<'_, ()>> = by_namespace
            .into_iter()
            .map(|(namespace, scopes)| self.examine_namespace(api, namespace, scopes).boxed())
            .collect();
        let answers = stream::iter(questions).buffer_unordered(QUESTIONS_AT_A_TIME).collect::<()>();
        if timeout(PATIENCE * 2, answers).await.is_err() {
            debug!("the API server is slow to say what is allowed; what it has not said is tried");
        }
    }

    async fn examine_namespace(&self, api: &Api, namespace: Arc<str>, scopes: Vec<(Scope, Resource)>) {
        let rules = match timeout(PATIENCE, api.access_rules(&namespace)).await {
            Ok(Ok(rules)) => Some(rules),
            Ok(Err(error)) => {
                debug!(%namespace, error = report(&error), "the API server does not say what is allowed");
                None
            }
            Err(_) => None,
        };
        for (scope, resource) in scopes {
            let doubtful = |rules: &AccessRules| VERBS.iter().any(|verb| rules.lack(verb, &resource));
            // Rules are a summary that some authorizers do not take part in; the access review asks them all.
            let denied = match &rules {
                Some(rules) if doubtful(rules) => denied(api, &scope, &resource).await,
                _ => None,
            };
            match denied {
                Some(reason) => self.deny(&scope, reason),
                None => self.allow(&scope),
            }
        }
    }

    /// Asks again about a scope that was denied; true unless the API server is sure that nothing has changed.
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
        let announced = matches!(known.get(scope), Some(Known::Denied(Denial { announced: true, .. })));
        let denial = Denial { reason, asked: Instant::now(), announced };
        known.insert(scope.clone(), Known::Denied(denial));
    }

    /// True once per denial: sessions come and go, and the log need not repeat it.
    pub(crate) fn is_news(&self, scope: &Scope) -> bool {
        match self.known.lock().get_mut(scope) {
            Some(Known::Denied(denial)) => !std::mem::replace(&mut denial.announced, true),
            _ => false,
        }
    }

    pub(crate) fn allow(&self, scope: &Scope) {
        self.known.lock().insert(scope.clone(), Known::Allowed);
    }

    pub(crate) fn read(&self, scope: &Scope) {
        self.known.lock().insert(scope.clone(), Known::Read);
    }

    pub(crate) fn was_read(&self, scope: &Scope) -> bool {
        matches!(self.known.lock().get(scope), Some(Known::Read))
    }

    /// The scope is no longer there; should it come back, it is asked about anew.
    pub(crate) fn forget(&self, scope: &Scope) {
        self.known.lock().remove(scope);
    }

    pub(crate) fn denial(&self, scope: &Scope) -> Option<Denial> {
        match self.known.lock().get(scope) {
            Some(Known::Denied(denial)) => Some(denial.clone()),
            Some(Known::Allowed | Known::Read) | None => None,
        }
    }
}

/// Why the scope may not be listed and watched; none if it may, or if the API server does not say.
async fn denied(api: &Api, scope: &Scope, resource: &Resource) -> Option<String> {
    let mut missing = Vec::new();
    for verb in VERBS {
        let access = Access { verb, resource, namespace: scope.namespace.as_deref(), name: None };
        let allowed = timeout(PATIENCE, api.may(access)).await.ok()?.ok()?;
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
