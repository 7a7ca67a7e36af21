//! Raw access to a Kubernetes API server, for an agent that is a pipe and not a cache.
//!
//! ```text
//! Credentials ──connect──▶ Api ──discover──▶ Discovery (which resources can be listed and watched)
//!                           │     (all by transport: few connections, current credentials, proxies)
//!                           │
//!                           ├──call───▶ Reply, or Pieces (operations)
//!                           ├──watch──▶ body ──────────▶ splitter (lines) ─┐
//!                           └──list───▶ body ──▶ unpack ─▶ page (items) ───┴─▶ sieve ──▶ object ──▶ EventStream
//! ```
//!
//! What is applied is compared before that with what was applied and what is there ([`three_way_strategic`]), by the merge
//! keys that the API server tells ([`Schemas`]).
//!
//! Bodies are split as bytes arrive, and scrubbed in the same pass: what `scrub` and `redact` hold back is never
//! copied. What passes is parsed only as deep as identity needs, and is otherwise the bytes that the API server sent.
//! No object is kept, and no Secret's value is ever asked for.
#![warn(missing_docs)]

mod api;
mod error;
mod request;
mod status;
mod transport;

mod discovery;
mod resolve;
pub mod rollout;

mod list;
mod target;
mod watch;

mod body;
mod page;
mod splitter;
mod unpack;

mod event;
mod json;
mod mesh;
mod object;
mod path;
mod redact;
mod result;
mod scrub;
mod sieve;

mod go_json;
mod last_applied;
mod managed_fields;
mod merge;
mod schema;

#[cfg(test)]
mod arbitrary;

pub use api::{
    Access, AccessRules, Api, ApiOptions, Call, ConnectError, Credentials, Greeting, Inspection,
    KubeconfigText, Pieces, Reply, ReviewError, Way,
};
pub use discovery::{Catalogue, Discovery, ServedResource};
pub use error::ApiError;
pub use event::Event;
pub use go_json::{encode as encode_like_go, normalize as normalize_like_go};
pub use json::Malformed;
pub use last_applied::{LAST_APPLIED, annotated, last_applied, normalized, unannotated};
pub use list::ListStart;
pub use managed_fields::{Ownership, move_to_apply, owners_of_last_applied};
pub use merge::{
    MergeError, Object, apply_json_merge, apply_json_patch, apply_strategic, prune_nulls, three_way_json,
    three_way_strategic,
};
pub use object::RawObject;
pub use page::{PageEnd, PageSplitter};
pub use path::InvalidPath;
pub use redact::{InvalidRedaction, RedactRule, Redactions};
pub use resolve::Resolver;
pub use result::scrub_result;
pub use schema::{Schema, Schemas, Shape};
pub use scrub::{ScrubRules, scrub};
pub use splitter::EventSplitter;
pub use status::Status;
pub use target::{View, WatchTarget};
pub use transport::{
    TransportError, TransportStats,
    login::{LoginError, PluginError},
};
pub use watch::{EventStream, WatchStart};
