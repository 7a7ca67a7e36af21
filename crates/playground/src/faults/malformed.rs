//! Malformed bodies, which no API server would send.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::Deserialize;

/// Kind of a malformed body. A watch gets it in, or before, its next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum MalformedBody {
    /// The body ends in the middle of an object, as if it were complete.
    Truncated,
    /// Strings in place of objects.
    WrongTypes,
    /// Longer by this number of bytes, all of them blanks.
    Huge { bytes: u32 },
    /// Every event is sent twice.
    Duplicate,
    /// Contains bytes that are not JSON.
    Garbage,
}

/// Chunks to send in place of one.
pub(super) struct ReplacementChunks {
    pub(super) chunks: VecDeque<Bytes>,
    /// Set if the body ends after them.
    pub(super) ends: bool,
}

const GARBAGE: &str = "<html><body>502 Bad Gateway</body></html>\n";
const WRONG_EVENT: &str = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":\"none\",\"spec\":[1,2]}}\n";
const WRONG_LIST: &str = "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":[],\"items\":\"none\"}\n";

// === impl MalformedBody ===

impl MalformedBody {
    /// Modifies some lines of a watch.
    pub(super) fn in_watch(self, chunk: &Bytes) -> ReplacementChunks {
        let whole =
            |chunks: &[Bytes]| ReplacementChunks { chunks: chunks.iter().cloned().collect(), ends: false };
        match self {
            Self::Truncated => truncated(chunk),
            Self::WrongTypes => whole(&[Bytes::from_static(WRONG_EVENT.as_bytes()), chunk.clone()]),
            Self::Huge { bytes } => whole(&[blanks(bytes), chunk.clone()]),
            Self::Duplicate => whole(&[chunk.clone(), chunk.clone()]),
            Self::Garbage => whole(&[Bytes::from_static(GARBAGE.as_bytes()), chunk.clone()]),
        }
    }

    /// Modifies the first chunk of any other response.
    pub(super) fn in_answer(self, chunk: &Bytes) -> ReplacementChunks {
        let only = |text: &'static str| ReplacementChunks {
            chunks: VecDeque::from([Bytes::from_static(text.as_bytes())]),
            ends: true,
        };
        match self {
            Self::Truncated => truncated(chunk),
            Self::WrongTypes => only(WRONG_LIST),
            Self::Huge { bytes } => {
                ReplacementChunks { chunks: VecDeque::from([blanks(bytes), chunk.clone()]), ends: false }
            }
            // No events to duplicate.
            Self::Duplicate => ReplacementChunks { chunks: VecDeque::from([chunk.clone()]), ends: false },
            Self::Garbage => only(GARBAGE),
        }
    }
}

fn truncated(chunk: &Bytes) -> ReplacementChunks {
    ReplacementChunks { chunks: VecDeque::from([chunk.slice(..chunk.len() / 2)]), ends: true }
}

/// Blanks that JSON allows in front of a value.
fn blanks(bytes: u32) -> Bytes {
    Bytes::from(vec![b' '; bytes as usize])
}
