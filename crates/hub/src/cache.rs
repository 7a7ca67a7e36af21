//! From batches to committed rows.
//!
//! ```text
//! session ──Batch──▶ Attachment (folds items, remembers what a listing mentioned) ──AccountWrite──▶ Committer
//!                                                                (groups accounts into one transaction) ──▶ store
//!                                                                                       └──▶ Feed (wakes readers)
//! ```
//!
//! The rules that [`Attachment`] follows are those of the model in `protocol/tests/cursor_model`.

mod attachment;
mod committer;
mod feed;
mod labels;

pub use attachment::{Attachment, Begun, Folded, Violation};
pub use committer::{CommitResult, Committed, Committer, CommitterConfig};
pub use feed::Feed;
