//! Simulated API servers: the default test cluster, with fault injection and load generation.
//!
//! ```text
//! kubectl, kube, client-go                         controllers, the shop, the load population
//!        │ HTTP/1.1, h2c                                      │ in this process
//!        ▼                                                    │
//! Playground ── /clusters/<name>/… ──▶ Layer (faults)         │
//!                                          │                  │
//!                       http: route ─▶ access ─▶ list, watch, create, patch, …
//!                                          │                  │
//!                                          ▼                  ▼
//!                       Cluster: catalogue ─▶ admission ─▶ Store ──▶ Collection ─▶ lists, watches, subscriptions
//!                                                                     ▲
//!                                              generated objects ─────┘
//! ```
//!
//! A cluster behaves like a real API server v1.36; the contract tests (`tests/contract`) run unchanged against both.
//! Objects are stored as compact JSON that table, history and responses share. There is no task per cluster: a watch
//! reads the cluster's short history when it is notified, and a list at an older resource version undoes the changes
//! since then.
//!
//! `docs/playground.md` lists what it does not imitate; `tests/contract/limits.rs` verifies the list.

mod admission;
mod builtin_schema;
mod catalogue;
mod cluster;
mod controllers;
mod convert;
mod faults;
pub mod fleet;
mod http;
mod object;
mod playground;
mod population;
mod selector;
mod shop;
mod status;
mod storage;

pub use catalogue::{Catalogue, Resource, Scope, Subresource, TableId, Verbs};
pub use cluster::{Body, BodyError, ConnectionClosed, Layer, Next, RequestBody};
pub use cluster::{
    ChangeNotice, Cluster, ClusterOptions, DeleteOptions, Key, Lagged, Propagation, Subscription,
};
pub use cluster::{ContainerRun, LogLine, LogSource};
pub use controllers::{Controllers, Timing};
pub use faults::{Effect, Fault, FaultId, Faults, MalformedBody, Script, ScriptError, Verb};
pub use playground::Playground;
pub use population::{Load, Population, PopulationOptions, Producer, Template};
pub use shop::{ActivityRate, Shop, ShopActivity, ShopLogs, ShopSize, cluster_names};
pub use status::{Cause, Status};
pub use storage::collection::{Change, Changes, Collection, Snapshot, SnapshotItem};
pub use storage::{ChangeKind, ChangesError, RevisionGone};
