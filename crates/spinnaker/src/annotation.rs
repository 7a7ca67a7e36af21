//! Annotations and labels by which Spinnaker recognises objects that it deployed.

/// `artifact.spinnaker.io/…`: artifact and version of an object.
pub mod artifact {
    pub const TYPE: &str = "artifact.spinnaker.io/type";
    pub const NAME: &str = "artifact.spinnaker.io/name";
    pub const LOCATION: &str = "artifact.spinnaker.io/location";
    pub const VERSION: &str = "artifact.spinnaker.io/version";
}

/// `moniker.spinnaker.io/…`: application and cluster of an object.
pub mod moniker {
    pub const APPLICATION: &str = "moniker.spinnaker.io/application";
    pub const CLUSTER: &str = "moniker.spinnaker.io/cluster";
    pub const STACK: &str = "moniker.spinnaker.io/stack";
    pub const DETAIL: &str = "moniker.spinnaker.io/detail";
    /// An annotation and a label.
    pub const SEQUENCE: &str = "moniker.spinnaker.io/sequence";
}

/// `strategy.spinnaker.io/…`: deployment strategy of a manifest.
pub mod strategy {
    pub const VERSIONED: &str = "strategy.spinnaker.io/versioned";
    pub const MAX_VERSION_HISTORY: &str = "strategy.spinnaker.io/max-version-history";
    pub const USE_SOURCE_CAPACITY: &str = "strategy.spinnaker.io/use-source-capacity";
    pub const RECREATE: &str = "strategy.spinnaker.io/recreate";
    pub const REPLACE: &str = "strategy.spinnaker.io/replace";
    pub const SERVER_SIDE_APPLY: &str = "strategy.spinnaker.io/server-side-apply";
}

/// Load balancers of a workload: a JSON list of full names.
pub const LOAD_BALANCERS: &str = "traffic.spinnaker.io/load-balancers";
/// `true` keeps an object out of the cache.
pub const IGNORE: &str = "caching.spinnaker.io/ignore";

/// Labels that Kubernetes recommends.
pub const NAME_LABEL: &str = "app.kubernetes.io/name";
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// Annotation of client-side apply.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Revision of a replica set that a deployment created.
pub const DEPLOYMENT_REVISION: &str = "deployment.kubernetes.io/revision";

/// Text of an annotation that older releases wrote as a JSON string.
pub(crate) fn unquoted(text: &str) -> Option<String> {
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        return serde_json::from_str(text).ok();
    }
    Some(text.to_owned())
}

/// As Java's `Boolean.parseBoolean`: only `true`, in any case, is true.
pub(crate) fn is_true(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}
