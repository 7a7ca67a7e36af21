//! Operations: what the hub asks for is done here, with the cluster's own credentials, at most once.
//!
//! ```text
//! Control ─▶ executor (known already? in time? whose turn?) ─▶ verbs ─▶ API server
//! Results ◀─ answer (piece by piece, as far as credit goes) ◀─┘
//! ```
//!
//! Verbs are Kubernetes', one file each; Spinnaker's rules are the hub's.

mod executor;
mod lanes;
mod outbox;
mod subject;

mod answer;
mod failure;
mod hand;
mod resolve;
mod retry;
mod verbs;

pub use answer::{Answer, AnswerSink, Gone};
pub use executor::Executor;
pub use failure::Failure;
pub use hand::Hand;
pub use outbox::Outbox;
pub use verbs::run;
