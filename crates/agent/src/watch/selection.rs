//! Scopes of an account: kinds that the API server serves and that the account, or else the hub, names, by namespace.

use std::collections::BTreeMap;

use spindrift_kubernetes::Discovery;
use spindrift_model::{CacheKinds, Resource, Scope};

use super::synthetic::SyntheticObjects;
use crate::config::AccountConfig;

/// A scope that the hub caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SelectedScope {
    pub(super) resource: Resource,
    /// Unset for a declared cluster-scoped kind of an account with `onlyNamespacedResources`.
    pub(super) read: bool,
    /// Objects that are reported while the scope cannot be read.
    pub(super) synthetic: Option<SyntheticObjects>,
    /// Largest number of objects of its kind that are reported.
    pub(super) limit: Option<usize>,
}

pub(super) fn scopes(
    config: &AccountConfig,
    kinds: &CacheKinds,
    discovery: &Discovery,
) -> BTreeMap<Scope, SelectedScope> {
    let kinds = config.cached_kinds(kinds);
    let mut scopes = BTreeMap::new();
    for resource in &discovery.resources {
        let short_names = discovery.short_names(resource);
        if !kinds.wants(resource, short_names) || !config.admits(resource, short_names) {
            continue;
        }
        let synthetic = SyntheticObjects::of(resource, config, discovery);
        let read = resource.namespaced || !config.only_namespaced_resources;
        if !read && synthetic.is_none() {
            continue;
        }
        let limit = config.most_entries(resource, short_names);
        let selected = SelectedScope { resource: resource.clone(), read, synthetic, limit };
        if !resource.namespaced || config.namespaces.is_empty() {
            scopes.insert(scope_of(resource, None), selected);
            continue;
        }
        for namespace in config.namespaces.iter().filter(|name| !config.omit_namespaces.contains(name)) {
            scopes.insert(scope_of(resource, Some(namespace)), selected.clone());
        }
    }
    scopes
}

fn scope_of(resource: &Resource, namespace: Option<&String>) -> Scope {
    Scope {
        group: resource.group.clone(),
        kind: resource.kind.clone(),
        namespace: namespace.map(|namespace| namespace.as_str().into()),
    }
}
