//! The part of Clouddriver: Spinnaker's rules (crate `spinnaker`), put to work on the store and on agents.
//!
//! ```text
//! rest/clouddriver ──▶ Accounts (what an account is, who may use it)
//!        │
//!        ├── reads of lists ─────────▶ store (rows, derived when objects are committed) ──▶ Inventory ──▶ views
//!        ├── reads that decide ──────▶ Live ──▶ dispatch ──▶ agent
//!        └── operations ──▶ tasks ───▶ Live ──▶ dispatch ──▶ agent
//! ```

mod account;
mod accounts;
mod artifact;
mod caller;
mod front50;
mod live;
mod rules;
mod task;

pub use account::Account;
pub use accounts::Accounts;
pub use artifact::{ArtifactAccount, Artifacts, Fetched};
pub use caller::Caller;
pub use front50::Front50;
pub use live::{Answer, Live, Trouble};
pub use rules::{Deriving, RuleBook};
pub use task::{RETENTION, Rejected, Tasks, TasksConfig};

use live::AGAIN;
