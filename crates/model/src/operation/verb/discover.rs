//! `discover`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::operation::{OperationClass, TargetRef};

/// Lists the resources that the cluster serves.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Discover {}

// === impl Discover ===

impl VerbRequest for Discover {
    const NAME: &'static str = "discover";

    fn target(&self) -> TargetRef<'_> {
        TargetRef { is_object: false, ..TargetRef::selected("resources", None) }
    }

    fn class(&self) -> OperationClass {
        OperationClass::BulkRead
    }
}
