//! Credentials of an account, and the service account that it acts as.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use spindrift_kubernetes::{Credentials, KubeconfigText};

use super::AccountConfig;

// === impl AccountConfig ===

impl AccountConfig {
    /// Returns where the credentials for the API server come from.
    pub fn credentials(&self) -> Result<Credentials, String> {
        let kubeconfig = |path| Credentials::Kubeconfig { path, context: self.context.clone() };
        match (&self.kubeconfig_file, &self.kubeconfig_contents, self.service_account) {
            (Some(path), None, false) => {
                Ok(kubeconfig(PathBuf::from(path.strip_prefix("file://").unwrap_or(path))))
            }
            (None, Some(contents), false) => {
                let kubeconfig = KubeconfigText::from(&*String::from_utf8_lossy(&decoded(contents)));
                Ok(Credentials::Contents { kubeconfig, context: self.context.clone() })
            }
            (None, None, true) => Ok(Credentials::ServiceAccount),
            (None, None, false) => {
                Err("expected kubeconfigFile, kubeconfigContents, or serviceAccount: true".into())
            }
            _ => Err(
                "kubeconfigFile, kubeconfigContents and serviceAccount exclude each other; give one of them"
                    .into(),
            ),
        }
    }

    /// The user that requests are made as, if it is not the account's own: a service account that is allowed.
    pub fn impersonated(&self, assumable: &[String]) -> Result<Option<String>, String> {
        let Some(wanted) = &self.assume_service_account else { return Ok(None) };
        let is_name = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.'))
        };
        let parts = wanted.split_once('/').filter(|(namespace, name)| is_name(namespace) && is_name(name));
        let Some((namespace, name)) = parts else {
            return Err(format!("assumeServiceAccount: expected namespace/name, found {wanted:?}"));
        };
        if !assumable.iter().any(|pattern| allows(pattern, namespace, name)) {
            return Err(format!(
                "assumeServiceAccount: {wanted} is not allowed; add it to kubernetes.assumableServiceAccounts, which is {assumable:?}"
            ));
        }
        Ok(Some(format!("system:serviceaccount:{namespace}:{name}")))
    }
}

/// Whether a pattern such as `spinnaker/deployer-*` allows a service account.
fn allows(pattern: &str, namespace: &str, name: &str) -> bool {
    let Some((namespaces, names)) = pattern.trim().split_once('/') else { return false };
    matches(namespaces, namespace) && matches(names, name)
}

/// Whether a text is the pattern's, in which `*` stands for any letters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    (0..=text.len()).filter_map(|at| text.get(at..)).any(|tail| matches(rest, tail))
}

/// The kubeconfig in base64, or as it is.
fn decoded(contents: &str) -> Vec<u8> {
    let bare: String = contents.split_whitespace().collect();
    STANDARD.decode(bare).unwrap_or_else(|_| contents.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_kubeconfig_may_be_written_into_the_account() {
        for contents in ["kind: Config\n", "a2luZDogQ29u\nZmlnCg=="] {
            let account =
                AccountConfig { kubeconfig_contents: Some(contents.into()), ..AccountConfig::default() };
            let kubeconfig = KubeconfigText::from("kind: Config\n");
            let credentials = account.credentials().unwrap();
            assert_eq!(credentials, Credentials::Contents { kubeconfig, context: None });
            let shown = format!("{credentials:?} {}", serde_json::to_string(&account).unwrap());
            assert!(!shown.contains("Config\\n"), "it is never logged: {shown}");
        }
    }

    #[test]
    fn a_service_account_is_assumed_only_if_the_agent_allows_it() {
        let assumes = |wanted: &str, assumable: &[&str]| {
            let assumable: Vec<_> = assumable.iter().map(ToString::to_string).collect();
            let account =
                AccountConfig { assume_service_account: Some(wanted.into()), ..AccountConfig::default() };
            account.impersonated(&assumable)
        };
        assert!(assumes("prod/deployer", &[]).unwrap_err().contains("prod/deployer is not allowed"));
        let user = || Ok(Some("system:serviceaccount:prod:deployer".to_owned()));
        for allowed in ["prod/deployer", "prod/*", "*/deployer", "*/*", "p*d/de*er"] {
            assert_eq!(assumes("prod/deployer", &[allowed]), user(), "{allowed}");
        }
        for other in ["prod/deploy", "prod", "*", "prod*", "production/deployer", "prod/deployer-*"] {
            assert!(assumes("prod/deployer", &[other]).is_err(), "{other}");
        }
        for wrong in ["deployer", "prod/", "/deployer", "prod/a/b", "*/*", "system:serviceaccount:prod:x"] {
            assert!(assumes(wrong, &["*/*"]).unwrap_err().contains("expected namespace/name"), "{wrong}");
        }
    }
}
