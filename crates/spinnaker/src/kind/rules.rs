//! Rules for the kinds of one account: the built-in ones and the account's `customResources`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Kind, SpinnakerKind};

/// Priority by which the objects of a request are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeployPriority {
    At(i32),
    Never(&'static str),
}

/// Error for a kind that cannot be deployed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDeployable(pub &'static str);

/// Entry of an account's `customResources`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomResource {
    pub kubernetes_kind: Kind,
    #[serde(default = "unclassified")]
    pub spinnaker_kind: SpinnakerKind,
    /// A number, or the name of a step such as `WORKLOAD_CONTROLLER_PRIORITY`.
    #[serde(default = "ordinary_priority")]
    pub deploy_priority: String,
    #[serde(default)]
    pub versioned: bool,
    #[serde(default = "yes")]
    pub namespaced: bool,
}

/// Rules for the kinds of one account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindRules {
    custom: Vec<CustomResource>,
}

/// Priority of custom resources that the account does not describe, and of unknown kinds.
const UNKNOWN_PRIORITY: i32 = 1000;

// === impl CustomResource ===

impl CustomResource {
    /// Validates it; an error names the field.
    pub fn check(&self) -> Result<(), String> {
        if self.kubernetes_kind.to_string().is_empty() {
            return Err("kubernetesKind: expected kind.group, found nothing".into());
        }
        let wrong = || {
            let found = &self.deploy_priority;
            format!("deployPriority: expected a number or a name such as WORKLOAD_PRIORITY, found {found:?}")
        };
        self.written_priority().map(drop).ok_or_else(wrong)
    }

    fn priority(&self) -> i32 {
        self.written_priority().unwrap_or(ORDINARY_PRIORITY)
    }

    fn written_priority(&self) -> Option<i32> {
        let text = self.deploy_priority.trim();
        text.parse().ok().or_else(|| named_priority(text))
    }
}

const ORDINARY_PRIORITY: i32 = 100;

fn ordinary_priority() -> String {
    ORDINARY_PRIORITY.to_string()
}

fn unclassified() -> SpinnakerKind {
    SpinnakerKind::Unclassified
}

fn yes() -> bool {
    true
}

fn named_priority(name: &str) -> Option<i32> {
    Some(match name.to_uppercase().as_str() {
        "LOWEST_PRIORITY" => 1000,
        "WORKLOAD_ATTACHMENT_PRIORITY" => 110,
        "WORKLOAD_CONTROLLER_PRIORITY" | "WORKLOAD_PRIORITY" => 100,
        "WORKLOAD_MODIFIER_PRIORITY" | "PDB_PRIORITY" => 90,
        "API_SERVICE_PRIORITY" => 80,
        "NETWORK_RESOURCE_PRIORITY" => 70,
        "MOUNTABLE_DATA_PRIORITY" => 50,
        "MOUNTABLE_DATA_BACKING_RESOURCE_PRIORITY"
        | "SERVICE_ACCOUNT_PRIORITY"
        | "STORAGE_CLASS_PRIORITY"
        | "ADMISSION_PRIORITY" => 40,
        "RESOURCE_DEFINITION_PRIORITY" | "ROLE_BINDING_PRIORITY" => 30,
        "ROLE_PRIORITY" => 20,
        "NAMESPACE_PRIORITY" => 0,
        _ => return None,
    })
}

// === impl KindRules ===

impl KindRules {
    pub fn new(custom: Vec<CustomResource>) -> Self {
        Self { custom }
    }

    /// The account's `customResources`.
    pub fn custom(&self) -> &[CustomResource] {
        &self.custom
    }

    /// Spinnaker's classification of a kind.
    pub fn spinnaker_kind(&self, kind: &Kind) -> SpinnakerKind {
        match (self.described(kind), kind.known()) {
            (Some(custom), _) => custom.spinnaker_kind,
            (None, Some(known)) => known.spinnaker_kind,
            (None, None) => SpinnakerKind::Unclassified,
        }
    }

    /// Whether each deployment creates a new object by default.
    pub fn is_versioned(&self, kind: &Kind) -> bool {
        match self.described(kind) {
            Some(custom) => custom.versioned,
            None => kind.known().is_some_and(|known| known.versioned),
        }
    }

    /// Whether its objects are namespaced, if that is known without discovery.
    pub fn is_namespaced(&self, kind: &Kind) -> Option<bool> {
        match self.described(kind) {
            Some(custom) => Some(custom.namespaced),
            None => kind.known().map(|known| known.namespaced),
        }
    }

    /// Priority in the order of deployment.
    pub fn priority(&self, kind: &Kind) -> Result<i32, NotDeployable> {
        match (self.described(kind), kind.known()) {
            (Some(custom), _) => Ok(custom.priority()),
            (None, None) => Ok(UNKNOWN_PRIORITY),
            (None, Some(known)) => match known.priority {
                DeployPriority::At(priority) => Ok(priority),
                DeployPriority::Never(why) => Err(NotDeployable(why)),
            },
        }
    }

    /// Classification of every kind with rules: an account's `spinnakerKindMap`.
    pub fn spinnaker_kind_map(&self) -> BTreeMap<String, SpinnakerKind> {
        let known = Kind::handled().map(|kind| (kind.to_string(), self.spinnaker_kind(&kind)));
        let custom = self.custom.iter().map(|it| (it.kubernetes_kind.to_string(), it.spinnaker_kind));
        known.chain(custom).collect()
    }

    /// Kinds of this classification.
    pub fn kinds_of(&self, spinnaker_kind: SpinnakerKind) -> Vec<Kind> {
        let custom = self.custom.iter().map(|custom| custom.kubernetes_kind.clone());
        let of_this = |kind: &Kind| self.spinnaker_kind(kind) == spinnaker_kind;
        Kind::handled().chain(custom).filter(of_this).collect()
    }

    fn described(&self, kind: &Kind) -> Option<&CustomResource> {
        self.custom.iter().find(|custom| custom.kubernetes_kind == *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> KindRules {
        KindRules::new(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn the_order_of_deployment_is_the_specs() {
        let table: [(i32, &[&str]); 12] = [
            (0, &["namespace"]),
            (20, &["role", "clusterRole"]),
            (30, &["roleBinding", "clusterRoleBinding", "customResourceDefinition"]),
            (40, &["persistentVolume", "serviceAccount", "storageClass"]),
            (40, &["mutatingWebhookConfiguration", "validatingWebhookConfiguration"]),
            (50, &["configMap", "secret", "persistentVolumeClaim"]),
            (70, &["service", "ingress", "networkPolicy"]),
            (80, &["apiService"]),
            (90, &["limitRange", "podPreset", "podSecurityPolicy", "podDisruptionBudget"]),
            (100, &["deployment", "replicaSet", "statefulSet", "daemonSet", "job", "cronJob", "pod"]),
            (110, &["horizontalpodautoscaler"]),
            (1000, &["CronTab.stable.example.com", "ReplicationController"]),
        ];
        for (priority, kinds) in table {
            for kind in kinds {
                assert_eq!(KindRules::default().priority(&Kind::parse(kind)), Ok(priority), "{kind}");
            }
        }
        let event = KindRules::default().priority(&Kind::parse("event")).unwrap_err();
        assert_eq!(event.to_string(), "Events cannot be deployed.");
    }

    #[test]
    fn every_kind_with_rules_is_in_the_map_as_recorded() {
        let recorded = include_str!("../../tests/recorded/spinnaker-kind-map.json");
        let recorded: BTreeMap<String, SpinnakerKind> = serde_json::from_str(recorded).unwrap();
        let rules = rules(r#"[{"kubernetesKind": "crontab.stable.example.com"}]"#);
        assert_eq!(rules.spinnaker_kind_map(), recorded);
    }

    #[test]
    fn an_account_describes_its_custom_resources() {
        let rules = rules(
            r#"[{"kubernetesKind": "Widget.example.com", "spinnakerKind": "serverGroups", "versioned": true,
                 "namespaced": false, "deployPriority": "ROLE_PRIORITY"},
                {"kubernetesKind": "Gadget.example.com", "deployPriority": "7"}]"#,
        );
        let widget = Kind::parse("widget.example.com");
        assert_eq!(rules.spinnaker_kind(&widget), SpinnakerKind::ServerGroups);
        assert!(rules.is_versioned(&widget));
        assert_eq!(rules.is_namespaced(&widget), Some(false));
        assert_eq!(rules.priority(&widget), Ok(20));
        assert_eq!(rules.priority(&Kind::parse("Gadget.example.com")), Ok(7));
        assert_eq!(rules.is_namespaced(&Kind::parse("Other.example.com")), None);
        assert!(rules.kinds_of(SpinnakerKind::ServerGroups).contains(&widget));
    }
}
