//! Operations on their way down Control, and their answers on the way up Results.
//!
//! ```text
//! Operation ─▶ parts ─══ Control ══▶ Operations ─▶ Request (the verb still as bytes)
//! answer, Ending ◀─ ResultPart ◀══ Results ══─ at most so far as credit goes
//! ```

mod answer;
mod request;

pub use answer::{ResultPart, ResultsDown};
pub(crate) use request::id;
pub use request::{OperationPart, Operations, Request};

/// How much of an answer is sent before the hub has said a word about it. A reader that is slow, or gone, costs its own
/// answer only: what is beyond the credit waits in the agent, unread.
pub const FIRST_CREDIT: u64 = 1024 * 1024;

/// Largest piece of an answer: small, since small answers take turns with large ones.
pub const RESULT_PIECE_BYTES: usize = 64 * 1024;
