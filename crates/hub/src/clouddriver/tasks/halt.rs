//! Why a run does not go on.

use spindrift_spinnaker::Failure;

use crate::clouddriver::Trouble;

/// Why a run does not go on.
#[derive(Debug)]
pub(super) enum Halt {
    /// The task is not this hub's any more, or the hub stops: whoever has it next goes on.
    Lost,
    /// A cluster, or whoever stands before it, said no.
    Trouble(Trouble),
    /// The operation has failed.
    Failed(Failure),
}

// === impl Halt ===

impl Halt {
    /// Makes the failure of an operation of what kubectl would have said.
    pub(super) fn told(self, failure: impl FnOnce(&str) -> Failure) -> Self {
        match self {
            Self::Trouble(trouble) => Self::Failed(failure(&trouble.said())),
            halt => halt,
        }
    }

    /// What the operation failed with; none if the run is another's to end.
    pub(super) fn into_failure(self) -> Option<Failure> {
        match self {
            Self::Lost => None,
            Self::Trouble(trouble) => Some(Failure::kubectl(trouble.said())),
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Stopping => Self::Lost,
            trouble => Self::Trouble(trouble),
        }
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
