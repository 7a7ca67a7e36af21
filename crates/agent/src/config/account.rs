//! `kubernetes.accounts[]`: a cluster, or a set of namespaces in one.

mod identity;
mod kinds;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use spindrift_kubernetes::RedactRule;
use spindrift_process::config::redact;

use super::{CachingPolicy, CustomKind, Permissions, RawResources};

/// One account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AccountConfig {
    /// Its name, unique over the installation; 1 to 128 characters. Required.
    pub name: String,
    /// The kubeconfig to use; this, `kubeconfigContents` or `serviceAccount`.
    pub kubeconfig_file: Option<String>,
    /// The kubeconfig itself, as text or in base64.
    #[serde(serialize_with = "redact::optional")]
    pub kubeconfig_contents: Option<String>,
    /// The context in it; the current one if absent.
    pub context: Option<String>,
    /// Use the pod's own credentials.
    pub service_account: bool,
    /// Accept every certificate of the API server.
    pub insecure: bool,
    /// The service account to act as, as `namespace/name`, by Kubernetes' impersonation. It must be one that
    /// `kubernetes.assumableServiceAccounts` allows.
    pub assume_service_account: Option<String>,
    /// Ignore proxies.
    pub no_proxy: bool,
    /// The namespaces it is limited to; all if empty.
    pub namespaces: Vec<String>,
    /// Namespaces that are left out, with all that is in them.
    pub omit_namespaces: Vec<String>,
    /// Leave out cluster-scoped kinds; requires `namespaces`.
    pub only_namespaced_resources: bool,
    /// Custom resources to make known where their definitions may not be listed.
    pub custom_resource_definitions: Vec<CustomResource>,
    /// The kinds to cache instead of those of the hub, which has the last word on kinds to leave out
    /// (`kubesvc.cache.cacheOmitKinds`); those of the hub if empty.
    pub kinds: Vec<String>,
    /// Kinds not to cache.
    pub omit_kinds: Vec<String>,
    /// Largest number of cached objects of a kind.
    pub caching_policies: Vec<CachingPolicy>,
    /// Values that never leave the cluster, by kind; those of `kubernetes.redact` hold too.
    pub redact: Vec<RedactRule>,
    /// Fiat's roles, as `{READ: […], WRITE: […]}` or a list of such. What cannot be read shuts everybody out. The hub
    /// shows them, and takes operations of Spinnaker only from callers who name the account in `X-SPINNAKER-ACCOUNTS`.
    pub permissions: serde_json::Value,
    /// Groups that may use it, where there are no `permissions`.
    pub required_group_membership: Vec<String>,
    /// The environment that Spinnaker shows; the account's name if absent.
    pub environment: Option<String>,
    /// The type that Spinnaker shows; the account's name if absent.
    pub account_type: Option<String>,
    /// Show Spinnaker only objects that it deployed; if absent, the hub's `kubesvc.runtime` decides.
    pub only_spinnaker_managed: Option<bool>,
    /// Custom resources and their Spinnaker kinds; they are cached, too. If absent, the hub's `kubesvc.runtime` decides.
    pub custom_resources: Option<Vec<CustomKind>>,
    /// Show objects of every kind with their application in `/rawResources`.
    pub cache_all_application_relationships: bool,
    /// Filter of `/rawResources`.
    pub raw_resources_endpoint_config: RawResources,
    /// Review the account's permissions before its kinds are read. If not, each kind is tried.
    pub check_permissions_on_startup: bool,
    /// Let Spinnaker read the metrics of pods.
    pub metrics: bool,
    /// Shown to Spinnaker, and no more: nothing is polled.
    pub cache_threads: u32,
    /// Shown to Spinnaker, and no more: nothing is polled.
    pub cache_interval_seconds: Option<u32>,
    /// A resume point that is older than this is not used: the scope is listed.
    pub max_resumable_resource_age_ms: u64,
}

/// One of `customResourceDefinitions[]`.
#[derive(Debug, Clone, Serialize, Deserialize, Default, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomResource {
    /// `Kind.group`.
    pub kind: String,
    /// Where its objects live.
    pub scope: CustomResourceScope,
}

/// Scope of a custom resource.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, Default, PartialEq, Eq)]
pub enum CustomResourceScope {
    /// In namespaces.
    #[default]
    #[serde(alias = "namespaced")]
    Namespaced,
    /// Outside of them.
    #[serde(alias = "cluster")]
    Cluster,
}

// === impl AccountConfig ===

impl Default for AccountConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            kubeconfig_file: None,
            kubeconfig_contents: None,
            context: None,
            service_account: false,
            insecure: false,
            assume_service_account: None,
            no_proxy: false,
            namespaces: vec![],
            omit_namespaces: vec![],
            only_namespaced_resources: false,
            custom_resource_definitions: vec![],
            kinds: vec![],
            omit_kinds: vec![],
            caching_policies: vec![],
            redact: vec![],
            permissions: serde_json::Value::Null,
            required_group_membership: vec![],
            environment: None,
            account_type: None,
            only_spinnaker_managed: None,
            custom_resources: None,
            cache_all_application_relationships: false,
            raw_resources_endpoint_config: RawResources::default(),
            check_permissions_on_startup: true,
            metrics: true,
            cache_threads: 1,
            cache_interval_seconds: None,
            max_resumable_resource_age_ms: 300_000,
        }
    }
}

impl AccountConfig {
    /// With one of each list whose entries have keys of their own.
    pub(super) fn example() -> Self {
        Self {
            custom_resource_definitions: vec![CustomResource::default()],
            custom_resources: Some(vec![CustomKind::default()]),
            caching_policies: vec![CachingPolicy::default()],
            redact: vec![RedactRule::default()],
            ..Self::default()
        }
    }

    /// Returns the roles that may see and change it. Permissions that cannot be parsed deny everyone, with the reason.
    pub fn permissions(&self) -> (Permissions, Option<String>) {
        match Permissions::parse(&self.permissions) {
            Ok(permissions) => (permissions, None),
            Err(wrong) => {
                (Permissions::nobody(), Some(format!("permissions: {wrong}; until then nobody has any")))
            }
        }
    }

    /// Checks the limits of the account.
    pub fn check_scope(&self) -> Result<(), String> {
        if self.only_namespaced_resources && self.namespaces.is_empty() {
            return Err("onlyNamespacedResources needs namespaces: expected at least one".into());
        }
        for (index, policy) in self.caching_policies.iter().enumerate() {
            policy.check().map_err(|wrong| format!("cachingPolicies[{index}].{wrong}"))?;
        }
        let groupless = self.custom_resource_definitions.iter().find(|declared| !declared.kind.contains('.'));
        match groupless {
            Some(declared) => Err(format!(
                "customResourceDefinitions[].kind: expected Kind.group, found {:?}",
                declared.kind
            )),
            None => Ok(()),
        }
    }

    /// A resume point that is older than this is not used.
    pub fn max_resumable_age(&self) -> Duration {
        Duration::from_millis(self.max_resumable_resource_age_ms)
    }

    /// Returns the properties for the hub, besides the cluster: a JSON object.
    pub fn properties(&self) -> String {
        json!({
            "permissions": self.permissions().0,
            "kinds": self.kinds,
            "omitKinds": self.omit_kinds,
            "namespaces": self.namespaces,
            "omitNamespaces": self.omit_namespaces,
            "onlyNamespacedResources": self.only_namespaced_resources,
            "requiredGroupMembership": self.required_group_membership,
            "environment": self.environment,
            "accountType": self.account_type,
            "onlySpinnakerManaged": self.only_spinnaker_managed,
            "customResources": self.custom_resources,
            "cacheAllApplicationRelationships": self.cache_all_application_relationships,
            "rawResourcesEndpointConfig": self.raw_resources_endpoint_config,
            "checkPermissionsOnStartup": self.check_permissions_on_startup,
            "metrics": self.metrics,
            "cacheThreads": self.cache_threads,
            "cacheIntervalSeconds": self.cache_interval_seconds,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_account_is_limited_to_must_make_sense() {
        let account = |text: &str| serde_json::from_str::<AccountConfig>(text).unwrap().check_scope();
        assert_eq!(account(r#"{"onlyNamespacedResources":true,"namespaces":["a"]}"#), Ok(()));
        assert!(account(r#"{"onlyNamespacedResources":true}"#).unwrap_err().contains("needs namespaces"));
        let groupless = account(r#"{"customResourceDefinitions":[{"kind":"Cart"}]}"#).unwrap_err();
        assert!(groupless.contains(r#"expected Kind.group, found "Cart""#), "{groupless}");
        let nothing = account(r#"{"cachingPolicies":[{"maxEntriesPerAgent":1}]}"#).unwrap_err();
        assert!(nothing.contains("cachingPolicies[0].kubernetesKind: expected"), "{nothing}");
        let endless = account(r#"{"cachingPolicies":[{"kubernetesKind":"pod"}]}"#).unwrap_err();
        assert!(endless.contains("cachingPolicies[0].maxEntriesPerAgent: expected"), "{endless}");
    }

    #[test]
    fn permissions_that_cannot_be_read_shut_everybody_out() {
        let account = AccountConfig { permissions: json!(["dev"]), ..AccountConfig::default() };
        let properties: serde_json::Value = serde_json::from_str(&account.properties()).unwrap();
        let nobody = json!({ "READ": ["spindrift:nobody"], "WRITE": ["spindrift:nobody"] });
        assert_eq!(properties["permissions"], nobody);
        assert!(account.permissions().1.unwrap().starts_with("permissions: expected a list of maps"));
    }
}
