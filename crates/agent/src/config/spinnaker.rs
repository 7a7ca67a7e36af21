//! Spinnaker settings of an account: the agent checks them and sends them to the hub, which applies them.

use serde::{Deserialize, Serialize};

use super::AccountConfig;

/// One of `customResources[]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomKind {
    /// `kind.group`. Required.
    pub kubernetes_kind: String,
    /// Spinnaker kind of its objects: `serverGroups`, `serverGroupManagers`, `instances`, `loadBalancers`,
    /// `securityGroups`, `configs` or `unclassified`.
    pub spinnaker_kind: String,
    /// When its objects are deployed, compared with others of the same operation: a number, or the name of a step such
    /// as `WORKLOAD_CONTROLLER_PRIORITY`.
    pub deploy_priority: String,
    /// Each deployment creates a new object.
    pub versioned: bool,
    /// Its objects are namespaced.
    pub namespaced: bool,
}

/// `rawResourcesEndpointConfig.*`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RawResources {
    /// Regular expressions of the only kinds that `/applications/{application}/rawResources` shows; each has to match
    /// a whole kind.
    pub kind_expressions: Vec<String>,
    /// Regular expressions of kinds that it does not show; not together with `kindExpressions`.
    pub omit_kind_expressions: Vec<String>,
}

const SPINNAKER_KINDS: [&str; 7] = [
    "serverGroups",
    "serverGroupManagers",
    "instances",
    "loadBalancers",
    "securityGroups",
    "configs",
    "unclassified",
];

// === impl CustomKind ===

impl Default for CustomKind {
    fn default() -> Self {
        Self {
            kubernetes_kind: String::new(),
            spinnaker_kind: "unclassified".into(),
            deploy_priority: "100".into(),
            versioned: false,
            namespaced: true,
        }
    }
}

impl CustomKind {
    fn check(&self) -> Result<(), String> {
        if self.kubernetes_kind.trim().is_empty() {
            return Err("kubernetesKind: expected kind.group, found nothing".into());
        }
        if !SPINNAKER_KINDS.contains(&self.spinnaker_kind.as_str()) {
            let (kinds, found) = (SPINNAKER_KINDS.join(", "), &self.spinnaker_kind);
            return Err(format!("spinnakerKind: expected one of {kinds}, found {found:?}"));
        }
        let priority = self.deploy_priority.trim();
        if priority.parse::<i32>().is_err() && !priority.to_uppercase().ends_with("_PRIORITY") {
            let expected = "expected a number or a name such as WORKLOAD_PRIORITY";
            return Err(format!("deployPriority: {expected}, found {priority:?}"));
        }
        Ok(())
    }
}

// === impl AccountConfig ===

impl AccountConfig {
    /// Checks the Spinnaker settings. The expressions of `rawResourcesEndpointConfig` are the hub's to
    /// read: the agent has no other use for regular expressions.
    pub fn check_spinnaker(&self) -> Result<(), String> {
        for (index, custom) in self.custom_resources.iter().flatten().enumerate() {
            custom.check().map_err(|wrong| format!("customResources[{index}].{wrong}"))?;
        }
        if self.cache_threads == 0 {
            return Err("cacheThreads: expected at least 1, found 0".into());
        }
        let RawResources { kind_expressions, omit_kind_expressions } = &self.raw_resources_endpoint_config;
        if !kind_expressions.is_empty() && !omit_kind_expressions.is_empty() {
            return Err(
                "rawResourcesEndpointConfig: kindExpressions and omitKindExpressions exclude each other; \
                        give one of them"
                    .into(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn account(settings: Value) -> AccountConfig {
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn what_does_not_make_sense_is_named() {
        let custom = |entry: Value| json!({ "customResources": [{ "kubernetesKind": "A.b" }, entry] });
        for (settings, says) in [
            (custom(json!({ "versioned": true })), "customResources[1].kubernetesKind: expected kind.group"),
            (
                custom(json!({ "kubernetesKind": "A.b", "spinnakerKind": "servers" })),
                "customResources[1].spinnakerKind: expected one of serverGroups, ",
            ),
            (
                custom(json!({ "kubernetesKind": "A.b", "deployPriority": "soon" })),
                "customResources[1].deployPriority: expected a number",
            ),
            (json!({ "cacheThreads": 0 }), "cacheThreads: expected at least 1"),
            (
                json!({ "rawResourcesEndpointConfig": { "kindExpressions": ["a"], "omitKindExpressions": ["b"] } }),
                "rawResourcesEndpointConfig: kindExpressions and omitKindExpressions exclude each other",
            ),
        ] {
            let wrong = account(settings.clone()).check_spinnaker().unwrap_err();
            assert!(wrong.starts_with(says), "{settings}: {wrong}");
        }
        let whole = json!({ "environment": "prod", "customResources": [{ "kubernetesKind": "A.b",
            "spinnakerKind": "serverGroups", "deployPriority": "ROLE_PRIORITY" }] });
        assert_eq!(account(whole).check_spinnaker(), Ok(()));
    }

    #[test]
    fn what_is_not_configured_is_not_told_so_that_the_hubs_defaults_hold() {
        let told =
            |settings: Value| -> Value { serde_json::from_str(&account(settings).properties()).unwrap() };
        let nothing = told(json!({}));
        for key in ["onlySpinnakerManaged", "customResources", "environment", "cacheIntervalSeconds"] {
            assert_eq!(nothing[key], Value::Null, "{key}");
        }
        assert_eq!((&nothing["metrics"], &nothing["cacheThreads"]), (&json!(true), &json!(1)));
        let some = told(json!({ "onlySpinnakerManaged": false, "customResources": [] }));
        assert_eq!((&some["onlySpinnakerManaged"], &some["customResources"]), (&json!(false), &json!([])));
    }
}
