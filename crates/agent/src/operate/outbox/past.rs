//! Operations that ended and whose answer has arrived: should their ids come again, they are not done again.

use std::collections::{HashMap, VecDeque};

use spindrift_model::{OperationId, Outcome};

use super::super::Failure;

/// How many are remembered. A hub sends an id again only before it has the answer, so this is a second lock on the same
/// door, and costs half a megabyte at most.
const MOST: usize = 8192;

/// What came of the newest of them, in few bytes.
#[derive(Debug, Default)]
pub(super) struct Past {
    endings: HashMap<OperationId, Short>,
    /// Oldest first.
    order: VecDeque<OperationId>,
}

#[derive(Debug, Clone, Copy)]
enum Short {
    Succeeded(u16),
    Failed(u16),
    Unknown,
    Cancelled,
    Expired,
}

// === impl Past ===

impl Past {
    pub(super) fn remember(&mut self, operation: OperationId, outcome: &Outcome) {
        if self.endings.insert(operation, outcome.into()).is_none() {
            self.order.push_back(operation);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.endings.remove(&oldest);
        }
    }

    pub(super) fn of(&self, operation: OperationId) -> Option<Outcome> {
        self.endings.get(&operation).map(|short| Outcome::from(*short))
    }
}

// === impl Short ===

impl From<&Outcome> for Short {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { code } => Self::Succeeded(*code),
            Outcome::Failed { code, .. } => Self::Failed(*code),
            Outcome::Unknown { .. } => Self::Unknown,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Expired => Self::Expired,
        }
    }
}

impl From<Short> for Outcome {
    fn from(short: Short) -> Self {
        match short {
            Short::Succeeded(code) => Self::Succeeded { code },
            Short::Failed(code) => {
                let message = "the operation failed; its answer was delivered before, and is no longer kept";
                Failure::ours(code, "AlreadyAnswered", message).into_outcome()
            }
            Short::Unknown => Self::Unknown {
                reason: "nobody knew what came of it when its answer was delivered before".into(),
            },
            Short::Cancelled => Self::Cancelled,
            Short::Expired => Self::Expired,
        }
    }
}
