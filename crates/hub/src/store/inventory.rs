//! Rows: what is kept of each object beside its body, so that no list of Spinnaker's ever reads bodies.
//!
//! ```text
//! commit ──▶ Entry::derive ──▶ spindrift_row      in the transaction of the object, which it lives and dies with
//! rest ◀── Row (and the rows it relates to) ── spindrift_row
//! background ── derive_anew, where rules changed or a hub of another release wrote ──▶ spindrift_row
//! ```
//!
//! Applications and clusters have no rows of their own: they are there exactly while a row names them, which an index
//! tells without reading a row.

mod application;
mod around;
mod cluster;
mod derivation;
mod entry;
mod pass;
mod read;
mod search;

pub use application::Listing;
pub use cluster::ClusterPlace;
pub use derivation::Derivation;
pub use pass::{DerivedAnew, RowState};
pub use search::RowSearch;

pub(super) use entry::{COLUMNS, Entry, REPLACED, VALUES, kind_column};
