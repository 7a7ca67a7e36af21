//! Rules of Spinnaker, without I/O: operations, the preparation of manifests for deployment, and the JSON of objects that
//! Clouddriver returns.
//!
//! ```text
//!   write                                                    read
//!   ─────                                                    ────
//!   TaskRequest ─▶ SubmittedOperation ─▶ validate ─▶ task    object committed ─▶ Row::derive ─▶ columns + summary
//!                                           │                                                      │
//!      ┌────────────────────────────────────┘                rows of an application, their ────────┘
//!      ▼                                                     instances, services near them
//!   Deploy: sort ─▶ bind ─▶ version ─▶ annotate ─▶ traffic          │
//!      │  (requests Lookup, receives Live)                          ▼
//!      ▼                                                     Inventory ─▶ view::{ServerGroupSummary, LoadBalancer, …}
//!   Deliveries ─▶ (the agent's verbs) ─▶ OperationResult
//!      └── Line by line into the task's history              live object ─▶ view::ManifestView (status, artifacts)
//! ```
//!
//! **Rows.** When an object is committed, [`Row::derive`] derives its row from the bytes in one partial parse. Queries use
//! its columns: account, kind, namespace, name, [`SpinnakerKind`], application, cluster, owners. Its [`Summary`] is a few
//! hundred bytes of JSON with all that lists and details show. So:
//!
//! - `/applications` and its clusters need only distinct `(application, account, cluster)`: [`view::ClusterRef`];
//! - the views of an application need its rows, the rows of kind `instances` that its server groups own, and the
//!   services of their namespaces, put into an [`Inventory`];
//! - a single object needs its own row and the same neighbours;
//! - only `/manifests` and jobs need bodies, and those are read live.
//!
//! **Operations.** Reads of a cluster are requested as data ([`Lookup`]), and changes are returned as data ([`Delivery`],
//! [`traffic::patch`], [`Cleanup`], …). The messages of a task's history are [`Line`]s: Orca copies them into its stages,
//! and people search for them.
//!
//! Contents of Secrets, which Clouddriver shows, are never shown here.

#![cfg_attr(test, allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used"))]

pub mod annotation;
mod artifact;
mod cleanup;
mod deploy;
mod error;
mod failure;
mod gson;
mod inventory;
mod kind;
mod lenient;
pub mod manifest;
mod moniker;
mod name;
pub mod operation;
pub mod row;
mod selector;
mod status;
mod strategy;
pub mod target;
mod task;
pub mod traffic;
mod version;
pub mod view;

pub use artifact::{
    Artifact, ArtifactKey, Binding, ImageMatch, Pool, Unbound, bind, check_bound, extract, image_name,
};
pub use cleanup::{Cleanup, Outdated};
pub use deploy::{Deliveries, Delivery, Deploy, Labelling, Live, Lookup, Method, Target};
pub use error::{ErrorBody, Missing, Problem, Refusal};
pub use failure::Failure;
pub use gson::with_floats;
pub use inventory::Inventory;
pub use kind::{Capability, CustomResource, Kind, KindRules, NotDeployable, SpinnakerKind, Unsupported};
pub use manifest::{Existing, Manifest};
pub use moniker::{Moniker, NameParts};
pub use name::{Coordinates, FullName, NotAFullName};
pub use operation::{
    DeployManifest, Entries, InvalidRequest, Lines, OperationDescription, OperationResult,
    SpinnakerOperation, SubmittedOperation, TaskRequest, Violation,
};
pub use row::{Aspect, HealthState, PodHealth, Row, RowKey, RowRules, Summary, Workload};
pub use selector::{LabelSelector, LabelSelectors};
pub use status::{Condition, Status, UnsupportedVersion, status};
pub use strategy::{DeployStrategy, StrategyAnnotations};
pub use task::{Line, Task, TaskError, TaskOwner, TaskReference, TaskState};
pub use version::Version;
