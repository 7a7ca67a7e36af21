//! Errors of the hub itself: operations that it does not accept, or that do not reach an agent.

use spindrift_model::{AccountName, ErrorKind, OperationError};

const NOT_SENT: &str = "the hub's store did not answer; nothing was sent; try again";

pub(super) fn no_account(account: &AccountName) -> OperationError {
    OperationError::hub(ErrorKind::NoAccount, format!("there is no account {account}"))
}

pub(super) fn frozen(account: &AccountName, reason: &str) -> OperationError {
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    OperationError::hub(ErrorKind::Frozen, format!("account {account} is frozen{because}"))
}

pub(super) fn forbidden_namespace(namespace: &str, account: &AccountName) -> OperationError {
    let message =
        format!("namespace {namespace} has not been authorized in the configuration of account {account}");
    OperationError::hub(ErrorKind::Forbidden, message)
}

/// The account's limits cannot be parsed: then no change is allowed.
pub(super) fn unreadable_limits(account: &AccountName, problem: &str) -> OperationError {
    let message = format!("account {account} was announced with limits that cannot be parsed: {problem}");
    OperationError::hub(ErrorKind::Forbidden, message)
}

pub(super) fn overloaded(bound: &str) -> OperationError {
    OperationError::hub(ErrorKind::HubOverloaded, format!("{bound}; try again later"))
}

/// The store did not answer before the operation was accepted.
pub(super) fn store_unavailable() -> OperationError {
    OperationError::hub(ErrorKind::StoreUnavailable, NOT_SENT)
}

/// The store did not answer after the operation was accepted.
pub(super) fn not_sent() -> OperationError {
    OperationError::hub(ErrorKind::NotSent, NOT_SENT)
}

/// The store did not confirm the insertion of a change. If there is a row, the hub ends it and sends nothing.
pub(super) fn may_have_been_queued() -> OperationError {
    let message =
        "the hub's store did not answer; nothing was sent, and nothing will be under this id; try again";
    OperationError::hub(ErrorKind::MayHaveBeenQueued, message)
}

/// Nothing was sent, and the store does not record that. Once it answers, the row has the outcome.
pub(super) fn not_recorded() -> OperationError {
    let message =
        "nothing was sent, but the hub's store does not answer, so that a restarted hub may still send it";
    OperationError::hub(ErrorKind::NotRecorded, message)
}
