//! `cachingPolicies`: kinds of which not all objects are cached.

use serde::{Deserialize, Serialize};
use spindrift_model::{KindPattern, Resource};

use super::AccountConfig;

/// One of `cachingPolicies[]`.
#[derive(Debug, Clone, Serialize, Deserialize, Default, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct CachingPolicy {
    /// `Kind` or `Kind.group`, in any case. Required.
    pub kubernetes_kind: String,
    /// So many objects of it, over all namespaces, are cached; the others can only be read live. Required.
    pub max_entries_per_agent: Option<usize>,
}

// === impl CachingPolicy ===

impl CachingPolicy {
    /// Checks the policy; an error names the invalid value.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.kubernetes_kind.trim().is_empty() {
            return Err("kubernetesKind: expected Kind or Kind.group, found nothing");
        }
        self.max_entries_per_agent.map(drop).ok_or("maxEntriesPerAgent: expected a number, found nothing")
    }
}

// === impl AccountConfig ===

impl AccountConfig {
    /// Returns the largest number of cached objects of a resource, by the first policy that names it.
    pub fn most_entries(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> Option<usize> {
        let is_meant = |policy: &&CachingPolicy| {
            KindPattern::parse(&policy.kubernetes_kind).matches_with(resource, short_names)
        };
        self.caching_policies.iter().find(is_meant)?.max_entries_per_agent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_for_the_kind_that_it_names_as_people_name_kinds() {
        let text = r#"{"cachingPolicies":[{"kubernetesKind":"replicaSet","maxEntriesPerAgent":7},
            {"kubernetesKind":"po","maxEntriesPerAgent":0}]}"#;
        let config: AccountConfig = serde_json::from_str(text).unwrap();
        let most = |group: &str, kind: &str, short: &str| {
            let plural = format!("{}s", kind.to_lowercase()).into();
            let version = "v1".into();
            let resource =
                Resource { group: group.into(), version, kind: kind.into(), plural, namespaced: true };
            config.most_entries(&resource, &[short])
        };
        assert_eq!(most("apps", "ReplicaSet", "rs"), Some(7));
        assert_eq!(most("", "Pod", "po"), Some(0));
        assert_eq!(most("apps", "Deployment", "deploy"), None);
    }
}
