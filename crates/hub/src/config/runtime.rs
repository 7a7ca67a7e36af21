//! `kubesvc.runtime.*`: what Spinnaker makes of accounts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spindrift_model::AccountName;
use spindrift_spinnaker::CustomResource;

/// `kubesvc.runtime.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Runtime {
    /// What holds for every account that does not say otherwise.
    pub defaults: RuntimeSettings,
    /// What holds for single accounts, by name.
    pub accounts: BTreeMap<String, RuntimeSettings>,
}

/// `kubesvc.runtime.defaults.*` and `kubesvc.runtime.accounts.<account>.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeSettings {
    /// Whether only objects that Spinnaker deployed are shown.
    pub only_spinnaker_managed: Option<bool>,
    /// What custom resources are to Spinnaker.
    pub custom_resources: Option<Vec<CustomResource>>,
}

// === impl Runtime ===

impl Runtime {
    /// As the account's own entry says, else the defaults.
    pub fn only_spinnaker_managed(&self, account: &AccountName) -> Option<bool> {
        let own = self.accounts.get(account.as_str()).and_then(|settings| settings.only_spinnaker_managed);
        own.or(self.defaults.only_spinnaker_managed)
    }

    /// As the account's own entry says, else the defaults.
    pub fn custom_resources(&self, account: &AccountName) -> Option<Vec<CustomResource>> {
        let own = self.accounts.get(account.as_str()).and_then(|settings| settings.custom_resources.clone());
        own.or_else(|| self.defaults.custom_resources.clone())
    }
}
