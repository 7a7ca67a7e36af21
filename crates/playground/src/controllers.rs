//! Small controllers: they roll out Deployments, finish Jobs, and start and stop pods.
//!
//! ```text
//! cluster ──notices──▶ work (each key once) ──▶ decide(objects) ─▶ plan ──writes──▶ cluster
//!                         ▲                                          │
//!                         └───────────── timers ◀──── look again ────┘
//! ```
//!
//! One task runs the controllers of all clusters of a process. Reconciliations are pure functions from the objects to
//! the writes; an idle cluster costs nothing.
//!
//! `docs/playground.md` lists the behaviour that they do not imitate.

mod budget;
mod cron_job;
mod daemon_set;
mod deployment;
mod endpoints;
pub(crate) mod fields;
mod job;
mod pod;
mod reconcile;
mod replica_set;
mod stateful_set;

mod control_loop;
mod events;
mod managed_cluster;
mod namespace;
mod timers;

pub use control_loop::Controllers;
pub(crate) use pod::Crash;
pub use reconcile::Timing;
pub(crate) use timers::Timers;
