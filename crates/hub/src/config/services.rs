//! `services.*`: the other services of Spinnaker that the hub asks.

use serde::{Deserialize, Serialize};

/// `services.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Services {
    /// Which applications and clusters make up a project.
    pub front50: Front50Settings,
}

/// `services.front50.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Front50Settings {
    /// Where it is, such as `http://front50:8080`. If absent, there are no projects.
    pub base_url: Option<String>,
}
