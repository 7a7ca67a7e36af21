//! Simulated API servers: the embedded default, the fault injector, the load source.

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
