//! Raw access to a Kubernetes API server, for an agent that streams objects and caches none.
//!
//! ```text
//! Credentials ──connect──▶ Api ──discover──▶ Discovery (resources that can be listed and watched)
//!                           │     (client: few connections, current credentials, proxies)
//!                           │
//!                           ├──call───▶ Reply, or Pieces (operations)
//!                           ├──watch──▶ body ──────────▶ splitter (lines) ─┐
//!                           └──list───▶ body ──▶ unpack ─▶ page (items) ───┴─▶ filter ──▶ object ──▶ EventStream
//! ```
//!
//! `merge` computes the patches of client-side apply ([`three_way_strategic`]) by the merge keys of the API server
//! ([`Schemas`]), and applies patches as the API server does.
//!
//! `stream` splits bodies as bytes arrive, and `scrub` filters them in the same pass: values that are cut or redacted are
//! never copied. The rest is parsed only as deep as the identity of an object needs, and is otherwise the bytes that the
//! API server sent. No object is kept, and no value of a Secret is ever requested.
#![warn(missing_docs)]

mod client;
mod discovery;

mod json;
mod scrub;
mod stream;

mod merge;
mod pod_order;
pub mod rollout;

#[cfg(test)]
mod arbitrary;

pub use client::{
    api::{Access, AccessRules, Api, AuthMethod, Call, Inspection, Pieces, Reply, ReviewError, ServerInfo},
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
pub use discovery::{
    Catalogue, Discovery, ServedResource,
    resolve::{KindFreshness, Resolver},
};
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
pub use pod_order::by_logging;
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
