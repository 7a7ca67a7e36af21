//! Position of an account's stream: the writer (epoch) and the next batch (sequence number).
//!
//! `protocol/tests/cursor_model` checks the rules of these types exhaustively.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::{ApiVersion, ResourceVersion, Scope, ScrubRevision};

macro_rules! counter {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
        #[serde(transparent)]
        pub struct $type(pub u64);

        impl $type {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter! {
    /// Which attachment of the account may write; every attach bumps it, so all earlier ones are refused.
    Epoch
}
counter! {
    /// Number of committed batches of the account; also the position in its change feed.
    Seq
}
counter! {
    /// One complete listing of a scope, from begin to end.
    Generation
}

/// The place a batch is written at: refused unless the store stands exactly there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Cursor {
    /// The attachment that writes.
    pub epoch: Epoch,
    /// The number of batches committed before this one.
    pub seq: Seq,
}

/// A scope's committed version, from which a watch may go on if nothing about the scope has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResumePoint {
    /// The scope.
    pub scope: Scope,
    /// The served version that the stored objects were read in.
    pub api_version: ApiVersion,
    /// The rules that the stored objects were scrubbed by.
    pub scrub_revision: ScrubRevision,
    /// The collection's version that the store has reached.
    pub resource_version: ResourceVersion,
    /// Time since the store reached it, by the store's own clock.
    pub age: Duration,
}

/// Answer to an agent whose account is attached: the only source of the position to go on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Where the first batch is to be written.
    pub cursor: Cursor,
    /// The scopes that can be resumed.
    pub resume_points: Vec<ResumePoint>,
}
