//! Which scopes an account has: what is served, what the hub wants, what the account admits, in which namespaces.

use std::collections::BTreeMap;

use spindrift_kubernetes::Discovery;
use spindrift_model::{CacheKinds, Resource, Scope};

use super::synthetic::StandIns;
use crate::config::AccountConfig;

/// A scope that is to be kept in the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) resource: Resource,
    /// Whether it is read at all: a declared kind without namespaces may be left alone.
    pub(super) read: bool,
    /// What is told in its place while it cannot be read.
    pub(super) stand_ins: Option<StandIns>,
    /// How many objects of its kind are told at most.
    pub(super) most: Option<usize>,
}

pub(super) fn scopes(
    config: &AccountConfig,
    kinds: &CacheKinds,
    discovery: &Discovery,
) -> BTreeMap<Scope, Chosen> {
    // What a custom resource is to Spinnaker would mean nothing if its objects were not there.
    let kinds = kinds.with(config.custom_kinds());
    let mut scopes = BTreeMap::new();
    for resource in &discovery.resources {
        let short_names = discovery.short_names(resource);
        if !kinds.wants(resource, short_names) || !config.admits(resource, short_names) {
            continue;
        }
        let stand_ins = StandIns::of(resource, config, discovery);
        let read = resource.namespaced || !config.only_namespaced_resources;
        if !read && stand_ins.is_none() {
            continue;
        }
        let most = config.most_entries(resource, short_names);
        let chosen = Chosen { resource: resource.clone(), read, stand_ins, most };
        if !resource.namespaced || config.namespaces.is_empty() {
            scopes.insert(scope_of(resource, None), chosen);
            continue;
        }
        for namespace in config.namespaces.iter().filter(|name| !config.omit_namespaces.contains(name)) {
            scopes.insert(scope_of(resource, Some(namespace)), chosen.clone());
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
