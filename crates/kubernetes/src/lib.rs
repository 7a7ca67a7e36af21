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

mod client;
mod discovery;

mod json;
mod scrub;
mod stream;

mod merge;
pub mod rollout;

#[cfg(test)]
mod arbitrary;

pub use client::{
    api::{Access, AccessRules, Api, Call, Greeting, Inspection, Pieces, Reply, ReviewError, Way},
    credentials::{ApiOptions, ConnectError, Credentials, KubeconfigText},
    error::ApiError,
    in_cluster::InClusterError,
    kubeconfig::{Kubeconfig, KubeconfigError, LoadDataError},
    status::Status,
    transport::{
        TransportError, TransportStats,
        login::{LoginError, PluginError},
    },
};
pub use discovery::{Catalogue, Discovery, ServedResource, resolve::Resolver};
pub use json::{Malformed, path::InvalidPath};
pub use merge::{
    MergeError, Object, PatchPart, apply_json_merge, apply_json_patch, apply_strategic, depth,
    go_json::{encode as encode_like_go, normalize as normalize_like_go},
    last_applied::{LAST_APPLIED, annotated, last_applied, normalized, unannotated},
    managed_fields::{Ownership, move_to_apply, owners_of_last_applied},
    prune_nulls,
    schema::{Schema, Schemas, Shape},
    three_way_json, three_way_strategic,
};
pub use scrub::{
    ScrubRules,
    redact::{InvalidRedaction, RedactRule, Redactions},
    result::scrub_result,
    scrub,
    view::View,
};
pub use spindrift_model::selector;
pub use stream::{
    event::Event,
    list::ListStart,
    object::RawObject,
    page::{PageEnd, PageSplitter},
    splitter::EventSplitter,
    target::WatchTarget,
    watch::{EventStream, WatchStart},
};
