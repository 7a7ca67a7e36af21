//! Filter of objects whose namespace the account leaves out.

use spindrift_kubernetes::RawObject;
use spindrift_model::{Resource, ScrubRevision};

use super::stable_hash;
use crate::config::AccountConfig;

/// Namespaces of an account, as a filter for the objects of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamespaceFilter {
    /// Set if the objects are namespaces themselves.
    by_name: bool,
    only: Vec<String>,
    omitted: Vec<String>,
}

// === impl NamespaceFilter ===

impl NamespaceFilter {
    pub(super) fn new(config: &AccountConfig, resource: &Resource) -> Self {
        let by_name = resource.group.is_empty() && &*resource.kind == "Namespace";
        if !by_name && !resource.namespaced {
            return Self::default();
        }
        // Other kinds are watched in these namespaces only.
        let only = if by_name { config.namespaces.clone() } else { Vec::new() };
        let watched_in_all = by_name || config.namespaces.is_empty();
        let omitted = if watched_in_all { config.omit_namespaces.clone() } else { Vec::new() };
        Self { by_name, only, omitted }
    }

    /// Whether the object is sent to the hub.
    pub(super) fn admits(&self, object: &RawObject) -> bool {
        let namespace = if self.by_name { &*object.name } else { &*object.namespace };
        let among = |names: &[String]| names.iter().any(|name| name == namespace);
        (self.only.is_empty() || among(&self.only)) && !among(&self.omitted)
    }

    /// Returns the scrub revision with this filter. Another filter has another revision, so that the scope is listed again.
    pub(super) fn revise(&self, by_rules: ScrubRevision) -> ScrubRevision {
        if self.only.is_empty() && self.omitted.is_empty() {
            return by_rules;
        }
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.join(",")
        };
        let hash = stable_hash([&*sorted(&self.only), &*sorted(&self.omitted)]);
        // The lower half is enough: two filters of one account have to differ, not all possible ones.
        let half = u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
        ScrubRevision(by_rules.0 ^ half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ScrubRevision = ScrubRevision(7);

    fn resource(kind: &str, namespaced: bool) -> Resource {
        let plural = format!("{}s", kind.to_lowercase()).into();
        Resource { group: "".into(), version: "v1".into(), kind: kind.into(), plural, namespaced }
    }

    fn object(namespace: &str, name: &str) -> RawObject {
        RawObject {
            namespace: namespace.into(),
            name: name.into(),
            uid: "u".into(),
            resource_version: "1".into(),
            body: "{}".into(),
        }
    }

    fn omitting(names: &[&str]) -> AccountConfig {
        let omit_namespaces = names.iter().map(ToString::to_string).collect();
        AccountConfig { omit_namespaces, ..AccountConfig::default() }
    }

    #[test]
    fn an_omitted_namespace_is_omitted_with_all_that_is_in_it_and_nothing_else() {
        let config = omitting(&["kube-system"]);
        let pods = NamespaceFilter::new(&config, &resource("Pod", true));
        assert!(!pods.admits(&object("kube-system", "a")) && pods.admits(&object("shop", "kube-system")));
        let namespaces = NamespaceFilter::new(&config, &resource("Namespace", false));
        assert!(!namespaces.admits(&object("", "kube-system")) && namespaces.admits(&object("", "shop")));
        let nodes = NamespaceFilter::new(&config, &resource("Node", false));
        assert!(nodes.admits(&object("", "kube-system")));
        assert_eq!(nodes.revise(RULES), RULES);
    }

    #[test]
    fn a_change_of_the_filter_is_a_change_of_the_revision_but_its_order_is_not() {
        let revision =
            |names: &[&str]| NamespaceFilter::new(&omitting(names), &resource("Pod", true)).revise(RULES);
        assert_eq!(revision(&[]), RULES);
        assert_eq!(revision(&["a", "b"]), revision(&["b", "a"]));
        assert_ne!(revision(&["a", "b"]), revision(&["a"]));
        assert_ne!(revision(&["a"]), RULES);
    }
}
