//! Operations: executed here, with the cluster's own credentials, at most once.
//!
//! ```text
//! Control ─▶ executor (known id? in time? its turn?) ─▶ verbs ─▶ API server
//! Results ◀─ results (piece by piece, as far as credit goes) ◀─┘
//! ```
//!
//! Verbs are those of Kubernetes, one file each; the rules of Spinnaker are in the hub.

mod executor;
mod queue;
mod results;
mod running;
mod target;

mod answer;
mod context;
mod errors;
mod resolve;
mod retry;
mod verbs;

pub use answer::{Answer, AnswerSink, Gone};
pub use context::OperationContext;
pub use executor::Executor;
pub use results::Results;
pub use running::{RunningOperation, RunningOperations};
pub use verbs::run;
