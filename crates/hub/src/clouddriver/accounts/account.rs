//! An account as Spinnaker knows it: what an agent announced, and what the hub's own configuration says on top.

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

/// An account.
#[derive(Debug, Clone)]
pub struct Account {
    pub name: AccountName,
    /// What `/credentials` shows.
    pub settings: AccountSettings,
    /// Objects without an application by annotation are left out.
    pub only_managed: bool,
    /// Everything with an application belongs to it, whatever its kind.
    pub all_applications: bool,
    /// The only namespaces; all if empty.
    pub namespaces: Vec<String>,
    pub omit_namespaces: Vec<String>,
    /// What `/rawResources` shows.
    pub raw_resources: KindExpressions,
    /// Whether pods' metrics are read.
    pub metrics: bool,
    /// Whether an agent caches it now.
    pub attended: bool,
    /// What is wrong with its settings, each a sentence that names the field.
    pub problems: Vec<String>,
}

// === impl Account ===

impl Account {
    /// As it was announced. The hub's entry for the account comes before that, and the hub's defaults after.
    pub fn new(row: &AccountRow, runtime: &Runtime) -> Self {
        let description = &row.description;
        let announced = Announced::read(&description.properties);
        let name = description.name.clone();
        let own = runtime.accounts.get(name.as_str());
        let only_managed = own
            .and_then(|own| own.only_spinnaker_managed)
            .or(announced.only_spinnaker_managed)
            .or(runtime.defaults.only_spinnaker_managed);
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
            only_managed: only_managed.unwrap_or(false),
            all_applications: announced.cache_all_application_relationships,
            namespaces: announced.namespaces,
            omit_namespaces: announced.omit_namespaces,
            raw_resources: announced.raw_resources,
            metrics: announced.metrics.unwrap_or(true),
            attended: is_attended(row),
            problems: announced.problems,
        }
    }

    /// How its objects become rows.
    pub fn row_rules(&self) -> RowRules<'_> {
        RowRules {
            kinds: &self.settings.kinds,
            only_managed: self.only_managed,
            all_applications: self.all_applications,
        }
    }

    /// Where its objects may be changed.
    pub fn namespace_rules(&self) -> NamespaceRules {
        NamespaceRules { only: self.namespaces.clone(), omit: self.omit_namespaces.clone() }
    }

    /// Whether a namespace is one of its own, as its agent sees it.
    pub fn reaches(&self, namespace: &str) -> bool {
        let is_in = |namespaces: &[String]| namespaces.iter().any(|name| name == namespace);
        (self.namespaces.is_empty() || is_in(&self.namespaces)) && !is_in(&self.omit_namespaces)
    }

    /// Whether somebody is kept out.
    pub fn is_restricted(&self) -> bool {
        let settings = &self.settings;
        settings.permissions.values().any(|roles| !roles.is_empty())
            || !settings.required_group_membership.is_empty()
    }

    /// Whether everybody is, since it cannot be read who is not.
    fn is_shut(&self) -> bool {
        self.settings.permissions.values().flatten().any(|role| role == NOBODY)
    }

    /// Whether the caller may change something in it. Roles are Fiat's to know; without it, the account of a caller
    /// whom they are made for is among those that the caller names.
    pub fn may_change(&self, caller: &Caller) -> bool {
        !self.is_restricted() || (!self.is_shut() && caller.is_allowed(self.name.as_str()))
    }
}

pub(super) fn is_attended(row: &AccountRow) -> bool {
    row.holder.as_ref().is_some_and(|holder| holder.lease_left.is_some())
}

#[cfg(test)]
mod tests;
