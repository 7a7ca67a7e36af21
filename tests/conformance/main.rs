//! Requests of real Spinnaker services, replayed; our answers must have the same effect.
//!
//! ```text
//! recordings ──▶ replay: each request to Clouddriver, in order ──▶ hub ══ agent ══▶ real cluster
//!                  └─ our answer beside the recorded one, field by field; each difference is accepted by name, or
//! fails
//!            ──▶ stages: Orca's executions, carried to their end by its player; and those that fail
//!            ──▶ gate: the calls that Gate made, and every route that it calls
//! ```
//!
//! `make conformance` runs it all. `docs/compatibility.md` has the tables of `accepted` and `routes`;
//! `UPDATE_GENERATED=1` regenerates them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]

mod accepted;
mod cluster_state;
mod documented;
mod failures;
mod gate;
mod page;
mod replay;
mod routes;
mod scenario;
mod stages;
mod world;

use tokio::sync::Mutex;

/// Each test has a cluster of its own, with controllers: one at a time.
static TURN: Mutex<()> = Mutex::const_new(());
