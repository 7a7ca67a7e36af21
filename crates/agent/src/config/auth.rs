//! `clouddriver.auth.*`: a bearer token for the hub, or for a proxy before it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_process::config::redact;

/// `clouddriver.auth.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Auth {
    /// A bearer token, sent as `authorization` with each call.
    #[serde(serialize_with = "redact::optional")]
    pub token: Option<String>,
    /// A program that prints one.
    pub token_command: TokenCommand,
}

/// `clouddriver.auth.tokenCommand.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct TokenCommand {
    /// The program; it is used instead of `token`.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Format of its output: `raw` is the token itself, `json` an object with the field `token`.
    pub format: TokenFormat,
    /// Time for which a token is used for further sessions; 0 runs the program for each.
    pub refresh_interval_seconds: u64,
}

/// Output format of a token command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum TokenFormat {
    /// An object with the field `token`.
    #[default]
    #[serde(alias = "")]
    Json,
    /// The token itself.
    Raw,
}

// === impl TokenCommand ===

impl TokenCommand {
    /// Returns the time for which a token is used for further sessions.
    pub fn refresh_interval(&self) -> Duration {
        Duration::from_secs(self.refresh_interval_seconds)
    }
}
