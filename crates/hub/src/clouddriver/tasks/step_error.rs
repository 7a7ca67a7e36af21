//! Error that ends a run of a task.

use spindrift_model::{ErrorKind, OperationError};
use spindrift_spinnaker::Failure;

/// Error that ends a run of a task.
#[derive(Debug)]
pub(super) enum StepError {
    /// Another hub runs the task now, or this hub shuts down: the next hub continues it.
    Lost,
    /// An operation on the cluster failed.
    Operation(OperationError),
    /// The operation has failed.
    Failed(Failure),
}

// === impl StepError ===

impl StepError {
    /// Converts an error of the cluster to a failure with kubectl's message.
    pub(super) fn or_failure(self, failure: impl FnOnce(&str) -> Failure) -> Self {
        match self {
            Self::Operation(error) => Self::Failed(failure(&error.stderr())),
            error => error,
        }
    }

    /// Failure of the operation; none if another hub ends the run.
    pub(super) fn into_failure(self) -> Option<Failure> {
        match self {
            Self::Lost => None,
            Self::Operation(error) => Some(Failure::kubectl(error.stderr())),
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<OperationError> for StepError {
    fn from(error: OperationError) -> Self {
        if error.kind == ErrorKind::HubStopping { Self::Lost } else { Self::Operation(error) }
    }
}

impl From<Failure> for StepError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
