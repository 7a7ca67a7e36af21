//! Accounts: from the configuration files to accounts whose API server has answered.
//!
//! ```text
//! files ──▶ reload ──▶ configured (which accounts exist) ──▶ account (credentials, identity, version)
//!                                                               └──▶ Accounts: those that can be served
//! ```

mod account;
pub mod configured;
pub mod reload;

pub use account::{Account, Accounts, Preparation};
