//! From batches to committed rows.
//!
//! ```text
//! session ──Batch──▶ Attachment (folds items, remembers what a listing mentioned) ──AccountWrite──▶ Committer
//!                                                                (groups accounts into one transaction) ──▶ store
//!                                                                                       └──▶ Feed (wakes readers)
//! ```
//!
//! The rules that [`Attachment`] follows are those of the model in `protocol/tests/cursor_model`.

mod attach;
mod attached;
mod channel;
mod commit;
mod coverage;
mod credit;
mod feed;
mod fingerprints;
mod fold;
mod release;

pub use commit::{CommitResult, Committed, Committer, CommitterConfig};
pub use credit::Budget;
pub use feed::Feed;
pub use fold::{Attachment, Begun, Folded, Violation};

pub(crate) use channel::{EventsChannel, EventsOptions};
