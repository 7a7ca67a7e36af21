//! Derived rows: a summary of each object, so that lists of Spinnaker never read bodies.
//!
//! ```text
//! commit ──▶ DeriveRows ──▶ spindrift_row        in the transaction of the object; deleted with it
//! clouddriver ◀── rows of an application, of an object and its neighbours, of a search ── spindrift_row
//! background ── rederive, where rules changed or a hub of another release wrote ──▶ spindrift_row
//! ```
//!
//! `clouddriver` alone reads these rows, and its types are those of `spindrift-spinnaker`. The queries are here all the
//! same, since they need the store's connections and its dialect. They are the only part of the store, beside `task`,
//! that names Spinnaker: commits and `rederive` see rows as columns, made by a [`DeriveRows`] that is passed in.
//!
//! Applications and clusters have no rows of their own: each exists exactly while a row names it, and an index lists
//! them without reading a row.

mod derived;
mod rederive;

mod application;
mod cluster;
mod neighbours;
mod read;
mod search;

pub use application::ApplicationRows;
pub use cluster::ClusterPlace;
pub use derived::{DeriveRows, DerivedRow};
pub use rederive::{Rederived, RowState};
pub use search::RowSearch;

pub(super) use derived::{COLUMNS, REPLACED, VALUES, kind_column};
