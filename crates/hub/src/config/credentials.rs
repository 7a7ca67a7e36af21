//! `credentials.*`: how accounts are marked for Spinnaker.

use serde::{Deserialize, Serialize};
use spindrift_spinnaker::view::AccountMarks;

/// `credentials.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Credentials {
    /// The environments in whose accounts Deck asks twice before it destroys something (`challengeDestructiveActions`).
    pub challenge_destructive_actions_environments: Vec<String>,
    /// The types of accounts that come first in lists (`primaryAccount`).
    pub primary_account_types: Vec<String>,
}

/// As in Clouddriver.
const DEFAULT: &str = "default";

// === impl Credentials ===

impl Default for Credentials {
    fn default() -> Self {
        Self {
            challenge_destructive_actions_environments: vec![DEFAULT.into()],
            primary_account_types: vec![DEFAULT.into()],
        }
    }
}

impl Credentials {
    pub fn marks(&self) -> AccountMarks {
        AccountMarks {
            challenged_environments: self.challenge_destructive_actions_environments.clone(),
            primary_types: self.primary_account_types.clone(),
        }
    }
}
