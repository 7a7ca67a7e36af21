//! Small controllers: what makes a Deployment roll out, a Job finish and a pod come and go.
//!
//! ```text
//! cluster ──notices──▶ work (each key once) ──▶ decide(objects) ─▶ plan ──writes──▶ cluster
//!                         ▲                                          │
//!                         └───────────── timers ◀──── look again ────┘
//! ```
//!
//! One task leads all clusters of a process. Decisions are pure functions from the objects to the writes; a cluster in
//! which nothing happens costs nothing.
//!
//! What they do not imitate stands in `docs/playground.md`.

mod budget;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
pub(crate) mod fields;
mod job;
mod pod;
mod replica_set;
mod stateful_set;
mod turn;

mod engine;
mod namespace;
mod notes;
mod site;
mod timers;

pub use engine::Controllers;
pub(crate) use pod::Crash;
pub(crate) use timers::Timers;
pub use turn::Tempo;
