//! `get`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::operation::{ObjectRef, OperationClass, TargetRef};

/// Reads one object. Answer: the object.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Get {
    /// Object.
    pub target: ObjectRef,
    /// Leaves the values of a Secret in the answer, if the agent's configuration allows it; the hub logs that.
    #[serde(default)]
    pub reveal: bool,
    /// Also reads outside of the account's namespaces, as far as the cluster authorizes the agent; not with `reveal`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

// === impl Get ===

impl VerbRequest for Get {
    const NAME: &'static str = "get";

    fn target(&self) -> TargetRef<'_> {
        TargetRef { anywhere: self.anywhere && !self.reveal, ..TargetRef::object(&self.target) }
    }

    fn class(&self) -> OperationClass {
        OperationClass::Read
    }
}
