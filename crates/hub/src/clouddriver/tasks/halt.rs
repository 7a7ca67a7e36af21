//! Why a run does not go on.

use spindrift_model::{ErrorKind, OperationError};
use spindrift_spinnaker::Failure;

/// Why a run does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// The task is not this hub's any more, or the hub stops: whoever has it next goes on.
    Lost,
    /// An operation on the cluster failed.
    Operation(OperationError),
    /// The operation has failed.
    Failed(Failure),
}

// === impl Halt ===

impl Halt {
    /// Makes the failure of an operation of what kubectl would have said.
    pub(super) fn told(self, failure: impl FnOnce(&str) -> Failure) -> Self {
        match self {
            Self::Operation(error) => Self::Failed(failure(&error.stderr())),
            halt => halt,
        }
    }

    /// What the operation failed with; none if the run is another's to end.
    pub(super) fn into_failure(self) -> Option<Failure> {
        match self {
            Self::Lost => None,
            Self::Operation(error) => Some(Failure::kubectl(error.stderr())),
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<OperationError> for Halt {
    fn from(error: OperationError) -> Self {
        if error.kind == ErrorKind::HubStopping { Self::Lost } else { Self::Operation(error) }
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
