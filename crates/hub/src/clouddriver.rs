//! The part of Clouddriver: Spinnaker's rules (crate `spinnaker`), put to work on the store and on agents.
//!
//! ```text
//! upstream ──▶ routes ──▶ Accounts (what an account is, who may use it)
//!                │
//!                ├── reads of lists ─────────▶ store (rows, derived when objects are committed) ──▶ Inventory ──▶ views
//!                ├── reads that decide ──────▶ Live ──▶ dispatch ──▶ agent
//!                └── operations ──▶ tasks ───▶ Live ──▶ dispatch ──▶ agent
//! ```
//!
//! `rest` serves these routes beside its own; they take their state (`rest::RestState`) and read bodies (`rest::body`)
//! as its own do. Nothing else of `rest` is used here.

mod accounts;
mod artifacts;
mod front50;
mod live;
pub(crate) mod routes;
mod rows;
mod tasks;
mod upstream;

pub use accounts::{Account, Accounts, Caller};
pub use artifacts::{ArtifactAccount, Artifacts, Fetched};
pub use front50::Front50;
pub use live::{Answer, Live, Trouble};
pub use routes::Staleness;
pub use rows::{Deriving, RuleBook};
pub use tasks::{RETENTION, Rejected, Tasks, TasksConfig};
pub use upstream::{Silence, Upstream};

use live::AGAIN;
