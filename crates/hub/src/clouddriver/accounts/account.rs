//! Account as Spinnaker sees it: an agent's announcement, completed by the hub's own configuration.

mod announced;

use spindrift_model::AccountName;
use spindrift_spinnaker::{
    KindRules, RowRules,
    operation::NamespaceRules,
    view::{AccountSettings, KindExpressions},
};

use super::Caller;
use crate::{config::Runtime, store::AccountRow};
use announced::{Announced, NOBODY};

/// Settings of an account.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: AccountName,
    /// Settings that `/credentials` shows.
    pub settings: AccountSettings,
    /// Set if only objects with an application by annotation have rows.
    pub only_managed: bool,
    /// Set if objects of all kinds belong to their applications.
    pub all_applications: bool,
    /// Namespaces that the account is limited to; all if empty.
    pub namespaces: Vec<String>,
    pub omit_namespaces: Vec<String>,
    /// Kinds that `/rawResources` shows.
    pub raw_resources: KindExpressions,
    /// Set if the hub reads metrics of pods.
    pub metrics: bool,
    /// Set if an agent caches it now.
    pub attended: bool,
    /// Errors in its settings, each naming the field.
    pub problems: Vec<String>,
}

// === impl Account ===

impl Account {
    /// Builds an account. The hub's entry for it overrides the announcement, which overrides the hub's defaults.
    pub fn new(row: &AccountRow, runtime: &Runtime) -> Self {
        let description = &row.description;
        let announced = Announced::read(&description.properties);
        let name = description.name.clone();
        let own = runtime.accounts.get(name.as_str());
        let only_managed = runtime.only_managed(name.as_str(), announced.only_spinnaker_managed);
        let custom_resources = own
            .and_then(|own| own.custom_resources.clone())
            .or(announced.custom_resources)
            .or_else(|| runtime.defaults.custom_resources.clone());
        let settings = AccountSettings {
            name: name.to_string(),
            environment: announced.environment,
            account_type: announced.account_type,
            permissions: announced.permissions,
            required_group_membership: announced.required_group_membership,
            cache_threads: announced.cache_threads,
            cache_interval_seconds: announced.cache_interval_seconds,
            namespaces: description.namespaces.clone(),
            kinds: KindRules::new(custom_resources.unwrap_or_default()),
        };
        Self {
            name,
            settings,
            only_managed,
            all_applications: announced.cache_all_application_relationships,
            namespaces: announced.limits.namespaces,
            omit_namespaces: announced.limits.omit_namespaces,
            raw_resources: announced.raw_resources,
            metrics: announced.metrics.unwrap_or(true),
            attended: is_attended(row),
            problems: announced.problems,
        }
    }

    /// Rules by which rows are derived from its objects.
    pub fn row_rules(&self) -> RowRules<'_> {
        RowRules {
            kinds: &self.settings.kinds,
            only_managed: self.only_managed,
            all_applications: self.all_applications,
        }
    }

    /// Namespaces in which its objects may be changed.
    pub fn namespace_rules(&self) -> NamespaceRules {
        NamespaceRules { only: self.namespaces.clone(), omit: self.omit_namespaces.clone() }
    }

    /// Whether a namespace belongs to the account, by the agent's rules.
    pub fn reaches(&self, namespace: &str) -> bool {
        let is_in = |namespaces: &[String]| namespaces.iter().any(|name| name == namespace);
        (self.namespaces.is_empty() || is_in(&self.namespaces)) && !is_in(&self.omit_namespaces)
    }

    /// Whether it requires a role.
    pub fn is_restricted(&self) -> bool {
        let settings = &self.settings;
        settings.permissions.values().any(|roles| !roles.is_empty())
            || !settings.required_group_membership.is_empty()
    }

    /// Set if the permissions are invalid: every caller is denied.
    fn is_closed(&self) -> bool {
        self.settings.permissions.values().flatten().any(|role| role == NOBODY)
    }

    /// Whether the caller may change objects in it. The hub does not know roles, which are Fiat's: a caller with the role
    /// names the account in `X-SPINNAKER-ACCOUNTS`.
    pub fn may_change(&self, caller: &Caller) -> bool {
        !self.is_restricted() || (!self.is_closed() && caller.is_allowed(self.name.as_str()))
    }
}

pub(super) fn is_attended(row: &AccountRow) -> bool {
    row.holder.as_ref().is_some_and(|holder| holder.lease_left.is_some())
}

#[cfg(test)]
mod tests;
