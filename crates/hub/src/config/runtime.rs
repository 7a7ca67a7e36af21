//! `kubesvc.runtime.*`: settings of accounts for Spinnaker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spindrift_model::KindPattern;
use spindrift_spinnaker::{CustomResource, Kind, SpinnakerKind};

/// `kubesvc.runtime.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Runtime {
    /// Settings of every account without its own.
    pub defaults: RuntimeSettings,
    /// Settings of single accounts, by name, with the keys of `kubesvc.runtime.defaults`. They take precedence over the
    /// settings that agents announce, and those over the defaults.
    pub accounts: BTreeMap<String, RuntimeSettings>,
}

/// `kubesvc.runtime.defaults.*` and `kubesvc.runtime.accounts.<account>.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeSettings {
    /// Shows only objects that Spinnaker deployed.
    pub only_spinnaker_managed: Option<bool>,
    /// Custom resources for Spinnaker, which agents also cache: `kubernetesKind` (`kind.group`), `spinnakerKind` (`unclassified`),
    /// `deployPriority` (`100`), `versioned` (`false`), `namespaced` (`true`).
    pub custom_resources: Option<Vec<CustomResource>>,
}

// === impl Runtime ===

impl Runtime {
    /// With all keys, for the schema.
    pub(super) fn example() -> Self {
        let custom = CustomResource {
            kubernetes_kind: Kind::parse("kind.group"),
            spinnaker_kind: SpinnakerKind::Unclassified,
            deploy_priority: String::new(),
            versioned: false,
            namespaced: true,
        };
        let defaults =
            RuntimeSettings { only_spinnaker_managed: Some(false), custom_resources: Some(vec![custom]) };
        Self { defaults, accounts: BTreeMap::new() }
    }

    /// Returns the kinds of all custom resources, which agents cache.
    pub fn custom_kinds(&self) -> impl Iterator<Item = KindPattern> {
        let all = self.accounts.values().chain([&self.defaults]);
        let custom = all.flat_map(|settings| settings.custom_resources.iter().flatten());
        custom.map(|custom| KindPattern::parse(&custom.kubernetes_kind.to_string()))
    }

    /// Whether only objects that Spinnaker deployed are wanted of an account, given what its agent announced. The hub's
    /// entry for the account overrides the announcement, which overrides the defaults.
    pub fn only_managed(&self, account: &str, announced: Option<bool>) -> bool {
        let own = self.accounts.get(account).and_then(|own| own.only_spinnaker_managed);
        own.or(announced).or(self.defaults.only_spinnaker_managed).unwrap_or(false)
    }

    /// Checks the settings; the error names the invalid one.
    pub fn check(&self) -> Result<(), String> {
        let accounts = self.accounts.iter().map(|(name, settings)| (format!("accounts.{name}"), settings));
        for (path, settings) in accounts.chain([("defaults".to_owned(), &self.defaults)]) {
            for (index, custom) in settings.custom_resources.iter().flatten().enumerate() {
                let named = |wrong| format!("kubesvc.runtime.{path}.customResources[{index}].{wrong}");
                custom.check().map_err(named)?;
            }
        }
        Ok(())
    }
}
