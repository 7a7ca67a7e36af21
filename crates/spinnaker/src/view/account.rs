//! Accounts: `/credentials`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::KUBERNETES;
use crate::{KindRules, SpinnakerKind};

/// Settings of an account.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AccountSettings {
    pub name: String,
    /// Defaults to its name.
    pub environment: Option<String>,
    pub account_type: Option<String>,
    /// Roles by `READ`, `WRITE`, …; without any, everyone may use it.
    pub permissions: BTreeMap<String, Vec<String>>,
    pub required_group_membership: Vec<String>,
    pub cache_threads: Option<u32>,
    pub cache_interval_seconds: Option<u32>,
    /// Configured namespaces, else the cached ones.
    pub namespaces: Vec<String>,
    pub kinds: KindRules,
}

/// Account in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountView<'a> {
    cloud_provider: &'static str,
    name: &'a str,
    environment: &'a str,
    account_type: &'a str,
    required_group_membership: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<BTreeMap<&'a str, Vec<String>>>,
    r#type: &'static str,
    challenge_destructive_actions: bool,
    primary_account: bool,
}

/// Account with all details.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountDetails<'a> {
    #[serde(flatten)]
    account: AccountView<'a>,
    cache_threads: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_interval_seconds: Option<u32>,
    spinnaker_kind_map: BTreeMap<String, SpinnakerKind>,
    docker_registries: [(); 0],
    namespaces: &'a [String],
    enabled: bool,
}

/// Flags of accounts by environment and type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountMarks {
    /// Environments in which Spinnaker asks for confirmation before it destroys something.
    pub challenged_environments: Vec<String>,
    /// Accounts of these types come first.
    pub primary_types: Vec<String>,
}

// === impl AccountView ===

impl<'a> AccountView<'a> {
    pub fn new(settings: &'a AccountSettings, marks: &AccountMarks) -> Self {
        let names = |names: &[String], name: &str| names.iter().any(|known| known == name);
        let environment = settings.environment.as_deref().unwrap_or(&settings.name);
        let account_type = settings.account_type.as_deref().unwrap_or(&settings.name);
        let restricted = settings.permissions.values().any(|roles| !roles.is_empty());
        Self {
            cloud_provider: KUBERNETES,
            name: &settings.name,
            environment,
            account_type,
            required_group_membership: if restricted { &[] } else { &settings.required_group_membership },
            permissions: restricted.then(|| normalized(&settings.permissions)),
            r#type: KUBERNETES,
            challenge_destructive_actions: names(&marks.challenged_environments, environment),
            primary_account: names(&marks.primary_types, account_type),
        }
    }
}

/// Roles are compared in lower case.
fn normalized(permissions: &BTreeMap<String, Vec<String>>) -> BTreeMap<&str, Vec<String>> {
    let role = |role: &String| role.trim().to_lowercase();
    permissions.iter().map(|(kind, roles)| (&**kind, roles.iter().map(role).collect())).collect()
}

// === impl AccountDetails ===

impl<'a> AccountDetails<'a> {
    pub fn new(settings: &'a AccountSettings, marks: &AccountMarks) -> Self {
        Self {
            account: AccountView::new(settings, marks),
            cache_threads: settings.cache_threads.unwrap_or(1),
            cache_interval_seconds: settings.cache_interval_seconds,
            spinnaker_kind_map: settings.kinds.spinnaker_kind_map(),
            docker_registries: [],
            namespaces: &settings.namespaces,
            enabled: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_marked_by_their_environment_and_type() {
        let marks = AccountMarks {
            challenged_environments: vec!["default".into(), "prod".into()],
            primary_types: vec!["main".into()],
        };
        let marked = |name: &str, environment: Option<&str>, account_type: Option<&str>| {
            let settings = AccountSettings {
                name: name.into(),
                environment: environment.map(Into::into),
                account_type: account_type.map(Into::into),
                ..AccountSettings::default()
            };
            let view = AccountView::new(&settings, &marks);
            (view.challenge_destructive_actions, view.primary_account)
        };
        assert_eq!(marked("eu", Some("prod"), Some("main")), (true, true));
        assert_eq!(marked("eu", Some("Prod"), None), (false, false));
        assert_eq!(marked("default", None, None), (true, false), "the name stands for what is not said");
        assert_eq!(marked("main", None, None), (false, true));
    }
}
