//! The options of accounts.

use serde::{Deserialize, Serialize};

use crate::session::AccountLimits;

/// `kubesvc.accounts.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct AccountSettings {
    /// Numbers of accounts.
    pub limits: AccountLimitSettings,
}

/// `kubesvc.accounts.limits.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AccountLimitSettings {
    /// Accounts that one agent can serve; the hub refuses more, with this reason. The original has no limit.
    pub per_agent: usize,
    /// Accounts in the database; names that are not among them are refused beyond it. The original has no limit.
    pub per_hub: usize,
}

// === impl AccountLimitSettings ===

impl Default for AccountLimitSettings {
    fn default() -> Self {
        // 10,000 accounts take about 120 MB in the hub.
        Self { per_agent: 2500, per_hub: 10_000 }
    }
}

impl AccountLimitSettings {
    /// Returns the limits of sessions.
    pub fn limits(&self) -> AccountLimits {
        AccountLimits { per_agent: self.per_agent, per_hub: self.per_hub }
    }
}
