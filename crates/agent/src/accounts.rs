//! Accounts: from the configuration files to accounts that can be served.
//!
//! ```text
//! files ──▶ reload ──▶ configured (which accounts exist) ──▶ account (credentials, identity, version)
//!                                                               └──▶ Accounts: those that can be served
//! ```

mod account;
pub mod configured;
pub mod reload;

pub use account::{Account, Accounts, Preparation};
