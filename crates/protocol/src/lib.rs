//! Protocol v1 between agents and hubs: messages, parsed completely at the edge.
//!
//! ```text
//! bytes ──prost──▶ v1::* (generated) ──TryFrom──▶ domain types ──▶ agent, hub
//!                                     ◀──From───
//! ```
//!
//! On the Events channel, `Cutter` and `Assembler` stand between messages and gRPC: compression and chunks.
//!
//! A message that does not fit is an [`InvalidMessage`] naming the field; nothing behind this crate checks again.
//! No I/O. The rules of the cursor (writer and next batch) are checked exhaustively in
//! `tests/cursor_model`.
#![warn(missing_docs)]

mod chunk;
mod codec;
mod compression;
mod control;
mod elements;
mod events;
pub mod flow;
mod invalid;
mod items;
mod operations;
mod register;
mod token;
mod version;

pub use chunk::{Assembler, Assembly, CHUNK_BYTES, Cutter, LARGEST_MESSAGE_BYTES};
pub use compression::{Compressor, Decompressor, Dictionary, IDLE_FRAME, LEVEL, WINDOW_LOG};
pub use control::{ControlDown, ControlUp};
pub use events::{EventsDown, EventsUp, Known, Rejected};
pub use invalid::InvalidMessage;
pub use operations::{
    EncodedOperation, FIRST_CREDIT, OperationPart, Operations, RESULT_PIECE_BYTES, ResultPart, ResultsDown,
};
pub use register::{Pacing, Registration, Verdict, Welcome};
pub use token::{
    Channel, ChannelToken, ChannelTokens, DICTIONARY_METADATA, FINGERPRINTS_METADATA, HEARTBEATS_METADATA,
    SESSION_METADATA, TOKEN_METADATA,
};
pub use version::{SUPPORTED, VersionMismatch, negotiate};

/// The generated wire types and services, checked in; `tests/generated_code.rs` makes them again.
#[allow(missing_docs, unreachable_pub, clippy::pedantic)]
pub mod v1 {
    include!("gen/spindrift.v1.rs");
}

/// The compiled description of the protocol, for the reflection service.
pub const DESCRIPTORS: &[u8] = include_bytes!("gen/spindrift.v1.bin");
