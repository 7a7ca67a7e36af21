//! Clouddriver's API: Spinnaker's rules (crate `spinnaker`) applied to the store and to agents.
//!
//! ```text
//! upstream ──▶ routes ──▶ Accounts (settings and permissions of accounts)
//!                │
//!                ├── reads of lists ─────────▶ store (rows, derived when objects are committed) ──▶ Inventory ──▶ views
//!                ├── reads that decide ──────▶ Live ──▶ dispatch ──▶ agent
//!                └── operations ──▶ tasks ───▶ Live ──▶ dispatch ──▶ agent
//! ```
//!
//! `rest` serves these routes beside its own. They share its state (`rest::RestState`) and its reader of bodies
//! (`rest::body`) with them, and use nothing else of `rest`.

mod accounts;
mod artifacts;
mod front50;
mod live;
mod object_ref;
pub(crate) mod routes;
mod rows;
mod stale_header;
mod staleness;
mod tasks;
mod upstream;

pub use accounts::{Account, Accounts, Caller};
pub use artifacts::{ArtifactAccount, Artifacts, Fetched};
pub use front50::Front50;
pub use live::{Live, LiveResponse};
pub use rows::{AccountRowRules, Derivation, RowRederivation};
pub use staleness::Staleness;
pub use tasks::{RETENTION, Rejected, Tasks, TasksConfig};
pub use upstream::{Upstream, UpstreamError};

use live::RETRY;
