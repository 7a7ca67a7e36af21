//! `logs`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::operation::{ObjectRef, OperationClass, TargetRef};

/// Reads the log of a container. Answer: text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Logs {
    /// Pod, or an object that has pods: then the first of them, as kubectl chooses it.
    pub target: ObjectRef,
    /// Container; if absent, the only one, or the one that `kubectl.kubernetes.io/default-container` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Reads the previous instance of the container.
    #[serde(default)]
    pub previous: bool,
    /// Follows the log until the container ends.
    #[serde(default)]
    pub follow: bool,
    /// Number of lines, from the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u64>,
    /// Age of the oldest line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seconds: Option<u64>,
    /// Time of the oldest line, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_time: Option<String>,
    /// Prefixes each line with its time.
    #[serde(default)]
    pub timestamps: bool,
    /// Maximum size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Also reads outside of the account's namespaces, as far as the cluster authorizes the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

// === impl Logs ===

impl VerbRequest for Logs {
    const NAME: &'static str = "logs";

    fn target(&self) -> TargetRef<'_> {
        TargetRef { anywhere: self.anywhere, ..TargetRef::object(&self.target) }
    }

    fn class(&self) -> OperationClass {
        if self.follow { OperationClass::Stream } else { OperationClass::BulkRead }
    }
}
