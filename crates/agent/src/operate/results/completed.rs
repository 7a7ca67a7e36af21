//! Ids of operations whose result the hub has: should they come again, they are not executed again.

use std::collections::{HashMap, VecDeque};

use spindrift_model::{ErrorKind, FailedState, OperationError, OperationId, Outcome};

/// Number of ids. A hub sends an id again only before it has the result, so that this is a second safeguard; it costs half
/// a megabyte at most.
const MAX_IDS: usize = 8192;

/// Newest completed ids, with their outcomes in few bytes.
#[derive(Debug, Default)]
pub(super) struct CompletedIds {
    outcomes: HashMap<OperationId, ShortOutcome>,
    /// Oldest first.
    order: VecDeque<OperationId>,
}

#[derive(Debug, Clone, Copy)]
enum ShortOutcome {
    Succeeded(u16),
    Failed(ErrorKind, u16),
}

// === impl CompletedIds ===

impl CompletedIds {
    pub(super) fn add(&mut self, operation: OperationId, outcome: &Outcome) {
        if self.outcomes.insert(operation, outcome.into()).is_none() {
            self.order.push_back(operation);
        }
        if self.order.len() > MAX_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.outcomes.remove(&oldest);
        }
    }

    pub(super) fn outcome(&self, operation: OperationId) -> Option<Outcome> {
        self.outcomes.get(&operation).map(|short| Outcome::from(*short))
    }
}

// === impl ShortOutcome ===

impl From<&Outcome> for ShortOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { code } => Self::Succeeded(*code),
            Outcome::Failed(error) => Self::Failed(error.kind, error.code),
        }
    }
}

impl From<ShortOutcome> for Outcome {
    fn from(short: ShortOutcome) -> Self {
        match short {
            ShortOutcome::Succeeded(code) => Self::Succeeded { code },
            ShortOutcome::Failed(kind, code) => {
                let error = match kind.state() {
                    FailedState::Failed => {
                        let message =
                            "the operation failed; its answer was delivered before, and is no longer kept";
                        OperationError::agent_with(ErrorKind::AnswerExpired, code, "AlreadyAnswered", message)
                    }
                    FailedState::Unknown => OperationError::unknown(
                        "its outcome was unknown when its answer was delivered before",
                    ),
                    FailedState::Cancelled => OperationError::cancelled(),
                    FailedState::Expired => OperationError::deadline_exceeded(),
                };
                error.into()
            }
        }
    }
}
