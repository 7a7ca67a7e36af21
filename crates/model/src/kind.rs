//! Resources as discovery shows them, and the patterns by which configuration chooses among them.

use std::{fmt, sync::Arc};

use crate::ApiVersion;

/// A resource that an API server serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The served version to use.
    pub version: ApiVersion,
    /// The kind, as in manifests.
    pub kind: Arc<str>,
    /// The name in URLs, such as `deployments`.
    pub plural: Arc<str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// A kind as people write it in configuration: `Deployment`, `replicaSet`, `deployments`, `Deployment.apps`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KindPattern {
    name: String,
    group: Option<String>,
}

/// Which kinds a hub wants cached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheKinds {
    /// Every kind that can be listed and watched.
    pub all: bool,
    /// The wanted kinds, unless all are.
    pub kinds: Vec<KindPattern>,
    /// Kinds that are not cached even so.
    pub omit: Vec<KindPattern>,
}

/// What is cached unless configured otherwise (`kubesvc.cache.cacheDefaults` of the original).
pub const DEFAULT_CACHE_KINDS: [&str; 12] = [
    "ReplicaSet",
    "Service",
    "Ingress",
    "DaemonSet",
    "Deployment",
    "Pod",
    "StatefulSet",
    "Job",
    "CronJob",
    "NetworkPolicy",
    "Namespace",
    "CustomResourceDefinition",
];

/// Groups that serve the same stored objects as another group; a bare kind name does not mean them too.
const MIRROR_GROUPS: [&str; 2] = ["extensions", "events.k8s.io"];

// === impl KindPattern ===

impl KindPattern {
    /// Reads `Kind` or `Kind.group`, in any case, singular or plural.
    pub fn parse(text: &str) -> Self {
        match text.trim().split_once('.') {
            Some((name, group)) => Self { name: name.to_lowercase(), group: Some(group.to_lowercase()) },
            None => Self { name: text.trim().to_lowercase(), group: None },
        }
    }

    /// Whether the resource is meant.
    pub fn matches(&self, resource: &Resource) -> bool {
        let group_fits = match &self.group {
            Some(group) => *group == resource.group.to_lowercase(),
            None => !MIRROR_GROUPS.contains(&&*resource.group),
        };
        group_fits
            && (self.name == resource.kind.to_lowercase() || self.name == resource.plural.to_lowercase())
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.group.iter().try_for_each(|group| write!(f, ".{group}"))
    }
}

// === impl CacheKinds ===

impl CacheKinds {
    /// Whether objects of this resource are to be cached.
    pub fn wants(&self, resource: &Resource) -> bool {
        let wanted = if self.all {
            !MIRROR_GROUPS.contains(&&*resource.group)
        } else {
            self.kinds.iter().any(|pattern| pattern.matches(resource))
        };
        wanted && !self.omit.iter().any(|pattern| pattern.matches(resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, kind: &str, plural: &str) -> Resource {
        Resource {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
        }
    }

    #[test]
    fn kinds_are_found_however_people_spell_them() {
        let deployment = resource("apps", "Deployment", "deployments");
        for text in ["Deployment", "deployment", "DEPLOYMENTS", " deployment.apps ", "Deployment.APPS"] {
            assert!(KindPattern::parse(text).matches(&deployment), "{text}");
        }
        for text in ["Deployment.extensions", "deploy-ment", "", "Deployment.apps.example.com"] {
            assert!(!KindPattern::parse(text).matches(&deployment), "{text}");
        }
        let policy = resource("networking.k8s.io", "NetworkPolicy", "networkpolicies");
        assert!(KindPattern::parse("networkPolicy.networking.k8s.io").matches(&policy));
    }

    #[test]
    fn a_bare_name_means_every_group_but_not_the_mirror_of_another() {
        let wanted = CacheKinds { kinds: vec![KindPattern::parse("Ingress")], ..CacheKinds::default() };
        assert!(wanted.wants(&resource("networking.k8s.io", "Ingress", "ingresses")));
        assert!(wanted.wants(&resource("config.openshift.io", "Ingress", "ingresses")));
        assert!(!wanted.wants(&resource("extensions", "Ingress", "ingresses")));
    }

    #[test]
    fn omitted_kinds_are_not_cached_even_when_all_are() {
        let wanted = CacheKinds { all: true, kinds: vec![], omit: vec![KindPattern::parse("event")] };
        assert!(!wanted.wants(&resource("", "Event", "events")));
        assert!(wanted.wants(&resource("example.com", "Widget", "widgets")));
    }
}
