//! Simulated API servers: the embedded default, the fault injector, the load source.
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
//! A cluster answers as a real API server v1.36 does; the contract tests (`tests/contract`) run unchanged against both.
//! Objects are kept as compact JSON that table, history and answers share. There is no task per cluster: a watch reads
//! the cluster's short history when it is woken, and a list of an older version undoes the changes since then.
//!
//! # What it does not imitate
//!
//! - Protobuf and CBOR in answers: they are JSON even to clients that would rather have protobuf. Bodies in protobuf,
//!   which typed clients of client-go send, are understood.
//! - Schemas of built-in kinds. Unknown fields are dropped or reported on the outermost level only; of values the rules
//!   that clients meet most are checked. OpenAPI documents tell paths, and schemas only of custom resources, so
//!   `kubectl explain` has nothing to say.
//! - Schemas of custom resources beyond type, required, enum, minimum, maximum, default and pruning: no patterns, no
//!   `oneOf`, no CEL. Lists in custom resources are replaced as a whole by server-side apply. No conversion webhooks.
//! - `managedFields` of writes by controllers in this process; the entries of clients have no members for maps and
//!   structs as such, and ownership of `nodeSelector` and the like is that of the whole.
//! - Admission plugins and webhooks, quotas, limit ranges, service account admission, priority classes, aggregated APIs.
//!   `kubernetes.io/pvc-protection` is not added.
//! - Garbage collection and the emptying of namespaces take no time: what a controller would do within a second has
//!   happened when the deletion is answered. Dependents of dependents never hold up a deletion in the foreground.
//! - `exec`, `attach`, `port-forward`, `proxy`, `ephemeralcontainers`, `resize`; ComponentStatus; beta APIs.
//! - Tokens of service accounts never expire, and who brings no credentials may do everything.
//! - `fieldSelector` on custom fields of definitions (`selectableFields`); `pretty` output.

mod admission;
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
mod shape;
mod shop;
mod status;
mod storage;

pub use catalogue::{Catalogue, Resource, Scope, Subresource, TableId, Verbs};
pub use cluster::{Cluster, ClusterOptions, DeleteOptions, Key, Lagged, Notice, Propagation, Subscription};
pub use controllers::{Controllers, Tempo};
pub use faults::{Effect, Fault, FaultId, Faults, Odd, Script, ScriptError, Verb};
pub use http::layer::{Body, BodyError, Cut, Layer, Next, RequestBody};
pub use http::logs::{LogLine, LogSource, Run};
pub use playground::Playground;
pub use population::{Load, Population, PopulationOptions, Producer, Template};
pub use shop::{Life, Logs, Pace, Shop, Size, cluster_names};
pub use status::{Cause, Status};
pub use storage::collection::{Change, Changes, Collection, Item, Snapshot};
pub use storage::{ChangeKind, Gone, Stop};
