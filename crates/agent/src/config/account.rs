//! `kubernetes.accounts[]`: a cluster, or a set of namespaces in one.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;
use spindrift_kubernetes::{Credentials, RedactRule};
use spindrift_model::{KindPattern, Resource};

/// One account.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AccountConfig {
    /// Its name, unique over the installation.
    pub name: String,
    /// The kubeconfig to use.
    pub kubeconfig_file: Option<String>,
    /// The context in it; the current one if absent.
    pub context: Option<String>,
    /// Whether to use the pod's own credentials.
    pub service_account: bool,
    /// Whether to accept every certificate of the API server.
    pub insecure: bool,
    /// Whether to ignore proxies.
    pub no_proxy: bool,
    /// The namespaces it is limited to; all if empty.
    pub namespaces: Vec<String>,
    /// Namespaces that are left out, with all that is in them.
    pub omit_namespaces: Vec<String>,
    /// Whether kinds without namespaces are left alone; `namespaces` must be given then.
    pub only_namespaced_resources: bool,
    /// Custom resources to make known where their definitions may not be listed.
    pub custom_resource_definitions: Vec<CustomResource>,
    /// The kinds to cache; what the hub asks for if empty.
    pub kinds: Vec<String>,
    /// Kinds not to cache.
    pub omit_kinds: Vec<String>,
    /// Values that never leave the cluster, by kind; those of `kubernetes.redact` hold too.
    pub redact: Vec<RedactRule>,
    /// Fiat roles, passed on as they are written.
    pub permissions: serde_json::Value,
    /// A resume point that is older than this is not used.
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

/// Where the objects of a custom resource live.
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
            context: None,
            service_account: false,
            insecure: false,
            no_proxy: false,
            namespaces: vec![],
            omit_namespaces: vec![],
            only_namespaced_resources: false,
            custom_resource_definitions: vec![],
            kinds: vec![],
            omit_kinds: vec![],
            redact: vec![],
            permissions: serde_json::Value::Null,
            max_resumable_resource_age_ms: 300_000,
        }
    }
}

impl AccountConfig {
    /// With one of each list whose entries have keys of their own.
    pub(super) fn example() -> Self {
        Self {
            custom_resource_definitions: vec![CustomResource::default()],
            redact: vec![RedactRule::default()],
            ..Self::default()
        }
    }

    /// Whose hand the account is served with.
    pub fn credentials(&self) -> Result<Credentials, String> {
        match (&self.kubeconfig_file, self.service_account) {
            (Some(path), false) => {
                let path = PathBuf::from(path.strip_prefix("file://").unwrap_or(path));
                Ok(Credentials::Kubeconfig { path, context: self.context.clone() })
            }
            (None, true) => Ok(Credentials::ServiceAccount),
            (Some(_), true) => {
                Err("kubeconfigFile and serviceAccount exclude each other; give one of them".into())
            }
            (None, false) => Err("expected kubeconfigFile, or serviceAccount: true".into()),
        }
    }

    /// Whether what the account is limited to makes sense.
    pub fn check_scope(&self) -> Result<(), String> {
        if self.only_namespaced_resources && self.namespaces.is_empty() {
            return Err("onlyNamespacedResources needs namespaces: expected at least one".into());
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

    /// Whether the account's own `kinds` and `omitKinds` let a resource pass, which its server gives these short names.
    pub fn admits(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let named = |texts: &[String]| {
            texts
                .iter()
                .map(|text| KindPattern::parse(text))
                .any(|pattern| pattern.matches(resource) || pattern.matches_with(resource, short_names))
        };
        (self.kinds.is_empty() || named(&self.kinds)) && !named(&self.omit_kinds)
    }

    /// A resume point that is older than this is not used.
    pub fn max_resumable_age(&self) -> Duration {
        Duration::from_millis(self.max_resumable_resource_age_ms)
    }

    /// What the hub is told beside the cluster: a JSON object.
    pub fn properties(&self) -> String {
        json!({
            "permissions": self.permissions,
            "kinds": self.kinds,
            "omitKinds": self.omit_kinds,
            "namespaces": self.namespaces,
            "omitNamespaces": self.omit_namespaces,
            "onlyNamespacedResources": self.only_namespaced_resources,
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
    }

    #[test]
    fn an_account_needs_exactly_one_way_in() {
        let neither = AccountConfig::default();
        assert!(neither.credentials().unwrap_err().contains("kubeconfigFile"));
        let both = AccountConfig {
            kubeconfig_file: Some("k".into()),
            service_account: true,
            ..AccountConfig::default()
        };
        assert!(both.credentials().is_err());
        let file = AccountConfig { kubeconfig_file: Some("file:///k".into()), ..AccountConfig::default() };
        assert_eq!(file.credentials(), Ok(Credentials::Kubeconfig { path: "/k".into(), context: None }));
    }
}
