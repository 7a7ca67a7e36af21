//! Control channel: pings, account lifecycle, and operations.

use std::time::Duration;

use spindrift_model::{AccountDescription, AccountName, OperationId, UnavailableAccount};

use crate::{
    InvalidMessage, OperationPart, Verdict,
    invalid::name,
    operations::id,
    register::{account, description, millis},
    v1,
};

/// Message of an agent on Control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlUp {
    /// Heartbeat; answered by a pong of the same nonce.
    Ping {
        /// Repeated in the pong.
        nonce: u64,
    },
    /// Accounts that became usable, or changed.
    Announce(Vec<AccountDescription>),
    /// Account that is no longer served.
    Withdraw(AccountName),
    /// All accounts that the agent is configured for and cannot serve now.
    Unavailable(Vec<UnavailableAccount>),
}

/// Message of a hub on Control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlDown {
    /// Answer to a ping.
    Pong {
        /// The ping's nonce.
        nonce: u64,
    },
    /// Acceptance or refusal of an announced account.
    Verdict(Verdict),
    /// End of the session.
    Disconnect {
        /// Reason, for people.
        reason: String,
        /// Earliest time to register again.
        retry_after: Duration,
    },
    /// Operation, or the next part of one.
    Operation(OperationPart),
    /// Cancellation of an operation.
    Cancel(OperationId),
}

// === ControlUp ⇄ wire ===

impl TryFrom<v1::ControlUp> for ControlUp {
    type Error = InvalidMessage;
    fn try_from(v1::ControlUp { message }: v1::ControlUp) -> Result<Self, InvalidMessage> {
        use v1::control_up::Message;
        match message.ok_or(InvalidMessage::missing("control.message"))? {
            Message::Ping(v1::Ping { nonce }) => Ok(Self::Ping { nonce }),
            Message::Announce(v1::Announce { accounts }) => {
                accounts.into_iter().map(description).collect::<Result<_, _>>().map(Self::Announce)
            }
            Message::Withdraw(v1::Withdraw { account }) => {
                Ok(Self::Withdraw(name("withdraw.account", &account)?))
            }
            Message::Unavailable(v1::UnavailableAccounts { accounts }) => {
                let account = |v1::UnavailableAccount { account, reason }| {
                    let name = name("unavailable.account", &account)?;
                    Ok::<_, InvalidMessage>(UnavailableAccount { name, reason })
                };
                accounts.into_iter().map(account).collect::<Result<_, _>>().map(Self::Unavailable)
            }
        }
    }
}

impl From<ControlUp> for v1::ControlUp {
    fn from(up: ControlUp) -> Self {
        use v1::control_up::Message;
        let message = match up {
            ControlUp::Ping { nonce } => Message::Ping(v1::Ping { nonce }),
            ControlUp::Announce(accounts) => {
                Message::Announce(v1::Announce { accounts: accounts.into_iter().map(account).collect() })
            }
            ControlUp::Withdraw(account) => Message::Withdraw(v1::Withdraw { account: account.to_string() }),
            ControlUp::Unavailable(accounts) => {
                let account = |UnavailableAccount { name, reason }| v1::UnavailableAccount {
                    account: name.to_string(),
                    reason,
                };
                let accounts = accounts.into_iter().map(account).collect();
                Message::Unavailable(v1::UnavailableAccounts { accounts })
            }
        };
        Self { message: Some(message) }
    }
}

// === ControlDown ⇄ wire ===

impl TryFrom<v1::ControlDown> for ControlDown {
    type Error = InvalidMessage;
    fn try_from(v1::ControlDown { message }: v1::ControlDown) -> Result<Self, InvalidMessage> {
        use v1::control_down::Message;
        match message.ok_or(InvalidMessage::missing("control.message"))? {
            Message::Pong(v1::Pong { nonce }) => Ok(Self::Pong { nonce }),
            Message::Verdict(verdict) => verdict.try_into().map(Self::Verdict),
            Message::Disconnect(v1::Disconnect { reason, retry_after_ms }) => {
                Ok(Self::Disconnect { reason, retry_after: Duration::from_millis(retry_after_ms.into()) })
            }
            Message::Operation(part) => part.try_into().map(Self::Operation),
            Message::Cancel(v1::CancelOperation { operation }) => {
                id("cancel.operation", &operation).map(Self::Cancel)
            }
        }
    }
}

impl From<ControlDown> for v1::ControlDown {
    fn from(down: ControlDown) -> Self {
        use v1::control_down::Message;
        let message = match down {
            ControlDown::Pong { nonce } => Message::Pong(v1::Pong { nonce }),
            ControlDown::Verdict(verdict) => Message::Verdict(verdict.into()),
            ControlDown::Disconnect { reason, retry_after } => {
                Message::Disconnect(v1::Disconnect { reason, retry_after_ms: millis(retry_after) })
            }
            ControlDown::Operation(part) => Message::Operation(part.into()),
            ControlDown::Cancel(operation) => {
                Message::Cancel(v1::CancelOperation { operation: operation.to_string() })
            }
        };
        Self { message: Some(message) }
    }
}
