//! All permissions in a namespace, by a single request.

use serde::Deserialize;
use serde_json::json;
use spindrift_model::Resource;

use super::{ReviewError, Reviewed};
use crate::client::api::Api;

/// Permissions of the credentials in a namespace, those for all namespaces included.
///
/// A summary: an access that it lacks is denied only if the summary is complete and every authorizer took part in it.
/// An access that it contains may still be denied.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessRules {
    #[serde(default)]
    resource_rules: Vec<ResourceRule>,
    #[serde(default)]
    incomplete: bool,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    /// A rule for single objects does not allow list.
    resource_names: Vec<String>,
}

const RULES_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

impl Api {
    /// Returns the permissions in a namespace. Those for all namespaces are part of the response for any namespace.
    pub async fn access_rules(&self, namespace: &str) -> Result<AccessRules, ReviewError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": { "namespace": namespace },
        });
        let Reviewed { status } = self.review(RULES_REVIEW, &review).await?;
        Ok(status)
    }
}

// === impl AccessRules ===

impl AccessRules {
    /// Whether no rule of a complete summary allows this.
    pub fn lack(&self, verb: &str, resource: &Resource) -> bool {
        !self.incomplete && !self.resource_rules.iter().any(|rule| rule.allows(verb, resource))
    }
}

// === impl ResourceRule ===

impl ResourceRule {
    fn allows(&self, verb: &str, resource: &Resource) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        has(&self.verbs, verb)
            && has(&self.api_groups, &resource.group)
            && has(&self.resources, &resource.plural)
            && self.resource_names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments() -> Resource {
        Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced: true,
        }
    }

    fn rules(text: &str) -> AccessRules {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_verb_is_lacking_unless_a_rule_for_all_objects_of_the_resource_has_it() {
        for (rule, lacks_watch) in [
            (r#"{"verbs":["list","watch"],"apiGroups":["apps"],"resources":["deployments"]}"#, false),
            (r#"{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}"#, false),
            (r#"{"verbs":["list"],"apiGroups":["apps"],"resources":["deployments"]}"#, true),
            (r#"{"verbs":["watch"],"apiGroups":["extensions"],"resources":["deployments"]}"#, true),
            (
                r#"{"verbs":["watch"],"apiGroups":["apps"],"resources":["deployments/scale","*/status"]}"#,
                true,
            ),
            (
                r#"{"verbs":["*"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["a"]}"#,
                true,
            ),
        ] {
            let rules = rules(&format!(r#"{{"resourceRules":[{rule}],"nonResourceRules":[]}}"#));
            assert_eq!(rules.lack("watch", &deployments()), lacks_watch, "{rule}");
        }
    }

    #[test]
    fn an_incomplete_summary_proves_nothing() {
        assert!(rules(r#"{"resourceRules":[]}"#).lack("list", &deployments()));
        assert!(!rules(r#"{"resourceRules":[],"incomplete":true}"#).lack("list", &deployments()));
    }
}
