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
    /// Set if its objects are namespaced.
    pub namespaced: bool,
}

/// A kind as people write it: `Deployment`, `replicaSet`, `deployments`, `deploy`, `Deployment.apps`,
/// `deployments.v1.apps`.
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

/// Kinds that are cached by default (`kubesvc.cache.cacheDefaults` of the original).
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

/// Short names of built-in kinds, as in kubectl: group, kind, short names.
const SHORT_NAMES: [(&str, &str, &[&str]); 29] = [
    ("", "ComponentStatus", &["cs"]),
    ("", "ConfigMap", &["cm"]),
    ("", "Endpoints", &["ep"]),
    ("", "Event", &["ev"]),
    ("", "LimitRange", &["limits"]),
    ("", "Namespace", &["ns"]),
    ("", "Node", &["no"]),
    ("", "PersistentVolume", &["pv"]),
    ("", "PersistentVolumeClaim", &["pvc"]),
    ("", "Pod", &["po"]),
    ("", "ReplicationController", &["rc"]),
    ("", "ResourceQuota", &["quota"]),
    ("", "Service", &["svc"]),
    ("", "ServiceAccount", &["sa"]),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &["crd", "crds"]),
    ("apps", "DaemonSet", &["ds"]),
    ("apps", "Deployment", &["deploy"]),
    ("apps", "ReplicaSet", &["rs"]),
    ("apps", "StatefulSet", &["sts"]),
    ("autoscaling", "HorizontalPodAutoscaler", &["hpa"]),
    ("batch", "CronJob", &["cj"]),
    ("certificates.k8s.io", "CertificateSigningRequest", &["csr"]),
    ("events.k8s.io", "Event", &["ev"]),
    ("networking.k8s.io", "IPAddress", &["ip"]),
    ("networking.k8s.io", "Ingress", &["ing"]),
    ("networking.k8s.io", "NetworkPolicy", &["netpol"]),
    ("policy", "PodDisruptionBudget", &["pdb"]),
    ("scheduling.k8s.io", "PriorityClass", &["pc"]),
    ("storage.k8s.io", "StorageClass", &["sc"]),
];

// === impl Resource ===

impl Resource {
    /// Namespaces, which every cluster has.
    pub fn namespaces() -> Self {
        Self {
            group: "".into(),
            version: "v1".into(),
            kind: "Namespace".into(),
            plural: "namespaces".into(),
            namespaced: false,
        }
    }

    /// `Kind`, or `Kind.group`, as configuration names it.
    pub fn kind_and_group(&self) -> String {
        if self.group.is_empty() { self.kind.to_string() } else { format!("{}.{}", self.kind, self.group) }
    }

    /// `v1`, or `apps/v1`, as in manifests.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Short names of a built-in kind in kubectl; those of custom resources are in their definitions.
    pub fn short_names(&self) -> &'static [&'static str] {
        let built_in =
            SHORT_NAMES.iter().find(|(group, kind, _)| **group == *self.group && **kind == *self.kind);
        built_in.map_or(&[], |(_, _, short)| short)
    }
}

// === impl KindPattern ===

impl KindPattern {
    /// Reads `Kind`, `Kind.group` or `Kind.version.group`, in any case, singular, plural or short.
    pub fn parse(text: &str) -> Self {
        match text.trim().split_once('.') {
            Some((name, group)) => Self { name: name.to_lowercase(), group: Some(group.to_lowercase()) },
            None => Self { name: text.trim().to_lowercase(), group: None },
        }
    }

    /// Whether the resource is meant.
    pub fn matches(&self, resource: &Resource) -> bool {
        self.matches_with(resource, resource.short_names())
    }

    /// Whether the resource is meant, given the short names that it has.
    pub fn matches_with(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let Resource { group, version, .. } = resource;
        let group_fits = match &self.group {
            Some(wanted) => {
                let group = group.to_lowercase();
                *wanted == group || *wanted == format!("{version}.{group}").to_lowercase()
            }
            None => !MIRROR_GROUPS.contains(&&**group),
        };
        group_fits && self.names(resource, short_names)
    }

    /// Whether the resource may be meant, given the short names that it has: in any version, and also
    /// by a group that mirrors another. For rules of which it is better that they hold too often than not at all.
    pub fn covers(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let group = resource.group.to_lowercase();
        let group_fits = self.group.as_ref().is_none_or(|wanted| {
            let bare =
                wanted.split_once('.').filter(|(version, _)| is_version(version)).map(|(_, bare)| bare);
            *wanted == group || bare == Some(group.as_str())
        });
        group_fits && self.names(resource, short_names)
    }

    /// Whether both may mean the same kind, by their names alone: singular or plural, in one group or in any.
    pub fn overlaps(&self, other: &Self) -> bool {
        let group_fits = match (&self.group, &other.group) {
            (Some(group), Some(other)) => group == other,
            _ => true,
        };
        let is_plural = |plural: &str, name: &str| {
            let stem = name.strip_suffix('y').map(|stem| format!("{stem}ies"));
            plural == format!("{name}s") || plural == format!("{name}es") || stem.as_deref() == Some(plural)
        };
        let is_short = |short: &str, name: &str| {
            let named = |kind: &str| *name == kind.to_lowercase() || is_plural(name, &kind.to_lowercase());
            SHORT_NAMES.iter().any(|(_, kind, all)| all.contains(&short) && named(kind))
        };
        let one_of = |one: &str, other: &str| is_plural(one, other) || is_short(one, other);
        let (name, other) = (self.name.as_str(), other.name.as_str());
        group_fits && (name == other || one_of(name, other) || one_of(other, name))
    }

    /// Whether the name is one of the resource's, in any group.
    fn names(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let Resource { kind, plural, .. } = resource;
        let built_in = resource.short_names().iter().copied();
        let mut short = short_names.iter().map(AsRef::as_ref).chain(built_in);
        self.name == kind.to_lowercase()
            || self.name == plural.to_lowercase()
            || short.any(|short| self.name == short.to_lowercase())
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.group.iter().try_for_each(|group| write!(f, ".{group}"))
    }
}

/// `v1`, `v1beta2`: no group begins like that.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

// === impl CacheKinds ===

impl CacheKinds {
    /// These and some more; omitted kinds stay omitted.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = KindPattern>) -> Self {
        let mut kinds = self.clone();
        kinds.kinds.extend(more);
        kinds
    }

    /// Returns an account's own kinds, if it names any, else these; omitted kinds stay omitted.
    #[must_use]
    pub fn replaced_by(&self, own: Vec<KindPattern>) -> Self {
        if own.is_empty() {
            return self.clone();
        }
        Self { all: false, kinds: own, omit: self.omit.clone() }
    }

    /// Whether objects of this resource, which its server gives these short names, are left out in any case.
    pub fn omits(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        self.omit
            .iter()
            .any(|pattern| pattern.matches(resource) || pattern.matches_with(resource, short_names))
    }

    /// Whether objects of this resource, which its server gives these short names, are to be cached.
    pub fn wants(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let named = |patterns: &[KindPattern]| {
            patterns
                .iter()
                .any(|pattern| pattern.matches(resource) || pattern.matches_with(resource, short_names))
        };
        let wanted = if self.all { !MIRROR_GROUPS.contains(&&*resource.group) } else { named(&self.kinds) };
        wanted && !self.omits(resource, short_names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

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
        for text in
            ["Deployment", "deployment", "DEPLOYMENTS", " deployment.apps ", "Deployment.APPS", "deploy"]
        {
            assert!(KindPattern::parse(text).matches(&deployment), "{text}");
        }
        for text in ["deploy.apps", "deployments.v1.apps", "deployment.v1.APPS"] {
            assert!(KindPattern::parse(text).matches(&deployment), "{text}");
        }
        for text in
            ["Deployment.extensions", "deploy-ment", "", "Deployment.apps.example.com", "deploy.v2.apps"]
        {
            assert!(!KindPattern::parse(text).matches(&deployment), "{text}");
        }
        assert!(KindPattern::parse("pods.v1.").matches(&resource("", "Pod", "pods")));
        let policy = resource("networking.k8s.io", "NetworkPolicy", "networkpolicies");
        assert!(KindPattern::parse("networkPolicy.networking.k8s.io").matches(&policy));
    }

    #[test]
    fn short_names_are_those_of_the_built_in_kind_or_of_the_definition() {
        let widget = resource("example.com", "Service", "services");
        assert!(!KindPattern::parse("svc").matches(&widget), "another group's kind of the same name");
        assert!(KindPattern::parse("WG").matches_with(&widget, &["wg"]));
        assert_eq!(resource("", "Service", "services").short_names(), ["svc"]);
    }

    #[test]
    fn what_must_not_be_missed_is_covered_in_every_version_and_by_mirrors_too() {
        let widget = resource("example.com", "Widget", "widgets");
        for text in ["wg", "Widget.v1.example.com", "widgets.v2beta1.example.com", "WG.example.com"] {
            assert!(KindPattern::parse(text).covers(&widget, &["wg"]), "{text}");
        }
        for text in ["wg.other.com", "Widget.v1.com", "Widget.com", "gadget"] {
            assert!(!KindPattern::parse(text).covers(&widget, &["wg"]), "{text}");
        }
        let mirror = resource("events.k8s.io", "Event", "events");
        assert!(KindPattern::parse("Event").covers(&mirror, &NONE));
        assert!(KindPattern::parse("pods.v1.").covers(&resource("", "Pod", "pods"), &NONE));
    }

    #[test]
    fn a_bare_name_means_every_group_but_not_the_mirror_of_another() {
        let wanted = CacheKinds { kinds: vec![KindPattern::parse("Ingress")], ..CacheKinds::default() };
        assert!(wanted.wants(&resource("networking.k8s.io", "Ingress", "ingresses"), &NONE));
        assert!(wanted.wants(&resource("config.openshift.io", "Ingress", "ingresses"), &NONE));
        assert!(!wanted.wants(&resource("extensions", "Ingress", "ingresses"), &NONE));
    }

    #[test]
    fn a_custom_kind_is_chosen_by_the_short_name_that_its_server_gives_it() {
        let widget = resource("example.com", "Widget", "widgets");
        let wanted = CacheKinds { kinds: vec![KindPattern::parse("wg")], ..CacheKinds::default() };
        assert!(wanted.wants(&widget, &["wg"]) && !wanted.wants(&widget, &NONE));
        let omitted = CacheKinds { all: true, kinds: vec![], omit: vec![KindPattern::parse("WG")] };
        assert!(!omitted.wants(&widget, &["wg"]));
    }

    #[test]
    fn the_kinds_of_an_account_replace_those_of_the_hub_but_not_its_omissions() {
        let hub = CacheKinds { all: true, kinds: vec![], omit: vec![KindPattern::parse("Secret")] };
        let own =
            |names: &[&str]| hub.replaced_by(names.iter().map(|name| KindPattern::parse(name)).collect());
        let [pod, map, secret] = ["Pod", "ConfigMap", "Secret"]
            .map(|kind| resource("", kind, &format!("{}s", kind.to_lowercase())));
        assert!(own(&[]).wants(&pod, &NONE), "an account without a list caches what the hub wants");
        let named = own(&["configMap", "secret"]);
        assert!(named.wants(&map, &NONE) && !named.wants(&pod, &NONE) && !named.wants(&secret, &NONE));
        assert!(named.omits(&secret, &NONE) && !named.omits(&map, &NONE));
    }

    #[test]
    fn patterns_overlap_that_may_mean_one_kind() {
        let overlap = |one: &str, other: &str| {
            let (one, other) = (KindPattern::parse(one), KindPattern::parse(other));
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
        };
        for (one, other) in [
            ("Event", "events"),
            ("ingress", "Ingresses.networking.k8s.io"),
            ("NetworkPolicy", "networkpolicies"),
            ("cm", "ConfigMap"),
            ("configmaps", "CM"),
        ] {
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [("Event.a.io", "Event.b.io"), ("Pod", "PodTemplate"), ("cm", "cs")] {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }

    #[test]
    fn omitted_kinds_are_not_cached_even_when_all_are() {
        let wanted = CacheKinds { all: true, kinds: vec![], omit: vec![KindPattern::parse("event")] };
        assert!(!wanted.wants(&resource("", "Event", "events"), &NONE));
        assert!(wanted.wants(&resource("example.com", "Widget", "widgets"), &NONE));
    }
}
