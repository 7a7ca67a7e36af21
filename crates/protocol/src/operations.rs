//! Operations on the Control channel, and their answers on the Results channel.
//!
//! ```text
//! Operation ─▶ parts ─══ Control ══▶ Operations ─▶ EncodedOperation (the verb still as bytes)
//! answer, Ending ◀─ ResultPart ◀══ Results ══─ at most as far as credit goes
//! ```

mod answer;
mod encoded;

pub use answer::{ResultPart, ResultsDown};
pub(crate) use encoded::id;
pub use encoded::{EncodedOperation, OperationPart, Operations};

/// Bytes of an answer that an agent may send before the hub grants more. A slow reader delays its own answer only: the rest
/// waits in the agent, unread.
pub const FIRST_CREDIT: u64 = 1024 * 1024;

/// Largest piece of an answer: small, so that small answers are interleaved with large ones.
pub const RESULT_PIECE_BYTES: usize = 64 * 1024;
