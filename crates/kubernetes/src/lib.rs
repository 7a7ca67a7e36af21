//! Raw access to a Kubernetes API server, for an agent that is a pipe and not a cache.
//!
//! ```text
//! Credentials ──connect──▶ Api ──discover──▶ Discovery (which resources can be listed and watched)
//!                           │
//!                           ├──watch──▶ splitter ──▶ event ──▶ object ──▶ scrub ──▶ EventStream
//!                           └──list───▶ pages ─────────────────▶ object ──▶ scrub ──▶ EventStream
//! ```
//!
//! Bodies are split as bytes arrive and parsed only as deep as identity and scrubbing need; what is forwarded is
//! otherwise the bytes that the API server sent. No object is kept, and no Secret's value is ever asked for.
#![warn(missing_docs)]

mod api;
mod error;
mod request;
mod status;

mod discovery;

mod list;
mod target;
mod watch;

mod event;
mod json;
mod object;
mod scrub;
mod splitter;

pub use api::{
    Access, AccessRules, Api, ApiOptions, ConnectError, Credentials, Greeting, Inspection, ReviewError, Way,
};
pub use discovery::Discovery;
pub use error::ApiError;
pub use event::Event;
pub use json::Malformed;
pub use list::ListStart;
pub use object::RawObject;
pub use scrub::{ScrubRules, scrub};
pub use splitter::{Line, LineSplitter};
pub use status::Status;
pub use target::{View, WatchTarget};
pub use watch::{EventStream, WatchStart};
