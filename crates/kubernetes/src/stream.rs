//! Lists and watches: response bodies split into scrubbed objects as their bytes arrive.

mod chunk;
pub(crate) mod event;
pub(crate) mod list;
pub(crate) mod object;
pub(crate) mod page;
pub(crate) mod splitter;
pub(crate) mod target;
pub(crate) mod unpack;
pub(crate) mod watch;
