//! Deployment strategy of a manifest, from its `strategy.spinnaker.io/…` annotations.

use crate::{
    Existing, KindRules, Manifest,
    annotation::{is_true, strategy as key},
};

/// Method of sending an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeployStrategy {
    /// Client-side apply.
    Apply,
    /// Delete, then apply.
    Recreate,
    /// Replace, or create if it does not exist.
    Replace,
    /// Server-side apply; `force` takes over fields of other managers.
    ServerSideApply { force: bool },
}

/// Strategy annotations of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyAnnotations {
    /// `versioned`, if set.
    pub versioned: Option<bool>,
    /// Number of versions to keep.
    pub max_version_history: Option<i64>,
    /// Set if it gets the replicas of the live object.
    pub use_source_capacity: bool,
    pub strategy: DeployStrategy,
}

// === impl StrategyAnnotations ===

impl StrategyAnnotations {
    pub fn of(manifest: &Manifest) -> Self {
        let flag = |key| manifest.annotation(key).is_some_and(is_true);
        let server_side = manifest.annotation(key::SERVER_SIDE_APPLY).unwrap_or_default();
        let strategy = if flag(key::RECREATE) {
            DeployStrategy::Recreate
        } else if flag(key::REPLACE) {
            DeployStrategy::Replace
        } else if server_side.eq_ignore_ascii_case("force-conflicts") {
            DeployStrategy::ServerSideApply { force: true }
        } else if is_true(server_side) {
            DeployStrategy::ServerSideApply { force: false }
        } else {
            DeployStrategy::Apply
        };
        Self {
            versioned: manifest.annotation(key::VERSIONED).map(is_true),
            max_version_history: manifest
                .annotation(key::MAX_VERSION_HISTORY)
                .and_then(|text| text.trim().trim_matches('"').parse().ok()),
            use_source_capacity: flag(key::USE_SOURCE_CAPACITY),
            strategy,
        }
    }

    /// Whether the manifest is versioned: by its annotation, else by the request, else by its kind.
    pub fn is_versioned(&self, requested: Option<bool>, manifest: &Manifest, rules: &KindRules) -> bool {
        self.versioned.or(requested).unwrap_or_else(|| rules.is_versioned(manifest.kind()))
    }
}

/// Replaces the strategy of a manifest by recreate.
pub(crate) fn recreate(manifest: &mut Manifest) {
    manifest.remove_annotation(key::REPLACE);
    manifest.remove_annotation(key::SERVER_SIDE_APPLY);
    manifest.annotate(key::RECREATE, "true", Existing::Overwrite);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn manifest(annotations: Value) -> Manifest {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "annotations": annotations}})
            .try_into()
            .unwrap()
    }

    #[test]
    fn recreate_wins_over_replace_and_that_over_server_side_apply() {
        use DeployStrategy::{Apply, Recreate, Replace, ServerSideApply};
        let key = |short: &str| format!("strategy.spinnaker.io/{short}");
        let table = [
            (json!({}), Apply),
            (json!({key("recreate"): "TRUE", key("replace"): "true"}), Recreate),
            (json!({key("recreate"): "yes", key("replace"): "true"}), Replace),
            (json!({key("replace"): "true", key("server-side-apply"): "true"}), Replace),
            (json!({key("server-side-apply"): "true"}), ServerSideApply { force: false }),
            (json!({key("server-side-apply"): "force-conflicts"}), ServerSideApply { force: true }),
            (json!({key("server-side-apply"): "false"}), Apply),
            (json!({key("server-side-apply"): "wibble"}), Apply),
        ];
        for (annotations, strategy) in table {
            assert_eq!(
                StrategyAnnotations::of(&manifest(annotations.clone())).strategy,
                strategy,
                "{annotations}"
            );
        }
    }

    #[test]
    fn a_manifest_decides_whether_it_is_versioned_then_the_request_then_its_kind() {
        let rules = KindRules::default();
        let table = [
            (json!({}), None, true),
            (json!({}), Some(false), false),
            (json!({"strategy.spinnaker.io/versioned": "true"}), Some(false), true),
            (json!({"strategy.spinnaker.io/versioned": "wibble"}), Some(true), false),
        ];
        for (annotations, requested, versioned) in table {
            let manifest = manifest(annotations);
            assert_eq!(
                StrategyAnnotations::of(&manifest).is_versioned(requested, &manifest, &rules),
                versioned
            );
        }
    }

    #[test]
    fn a_history_that_is_no_number_is_no_wish() {
        let of = |text: &str| {
            StrategyAnnotations::of(&manifest(json!({"strategy.spinnaker.io/max-version-history": text})))
                .max_version_history
        };
        assert_eq!((of("2"), of("\"3\""), of("two"), of("")), (Some(2), Some(3), None, None));
    }

    #[test]
    fn a_job_is_always_recreated() {
        let mut job = manifest(json!({"strategy.spinnaker.io/server-side-apply": "true",
            "strategy.spinnaker.io/replace": "true", "strategy.spinnaker.io/recreate": "false"}));
        recreate(&mut job);
        assert_eq!(
            job.pointer("/metadata/annotations"),
            Some(&json!({"strategy.spinnaker.io/recreate": "true"}))
        );
    }
}
