//! Simulated API servers: the embedded default, the fault injector, the load source.

mod admission;
mod catalogue;
mod cluster;
mod convert;
mod http;
mod object;
mod playground;
mod selector;
mod status;
mod storage;

pub use catalogue::{Catalogue, Resource, Scope, Subresource, TableId, Verbs};
pub use cluster::{Cluster, ClusterOptions, DeleteOptions, Key, Lagged, Notice, Propagation, Subscription};
pub use http::layer::{Body, BodyError, Cut, Layer, Next, RequestBody};
pub use http::logs::{LogLine, LogSource, Run};
pub use playground::Playground;
pub use status::{Cause, Status};
pub use storage::collection::{Change, Changes, Collection, Item, Snapshot};
pub use storage::{ChangeKind, Gone, Stop};
