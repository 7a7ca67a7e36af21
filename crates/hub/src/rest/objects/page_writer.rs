//! Writes a page of objects while the client takes it: a bounded part of it is in memory.

use std::{io, time::Duration};

use bytes::Bytes;
use serde::Serialize;
use spindrift_model::{AccountName, ObjectKey};
use spindrift_process::report;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{ObjectText, UnreadableName, live_token, token};
use crate::{
    rest::{
        RestState,
        position::Positions,
        read_buffer::{CHUNK_BYTES, NextPiece, ReaderBuffer},
        selection::Selection,
    },
    store::{ObjectChunk, ObjectQuery, StoreError, UnreadableObject},
};

/// A page may be empty though there are more, if nothing that matches was found for so long.
const SEARCH: Duration = Duration::from_secs(5);
/// Rows that are measured after a chunk with few rows: all rows of a page would be measured for every large object.
const MEASURED: u32 = 16;

/// A page that is being written.
pub(super) struct PageWriter {
    state: RestState,
    selection: Selection,
    query: ObjectQuery,
    /// Rows of a page.
    limit: u32,
    /// Set if accounts that are read live follow the last page.
    then_live: bool,
    /// Rows that are left of it.
    left: u32,
    position: String,
    unreadable: Vec<UnreadableObject>,
    /// Set once the page has an object.
    found: bool,
    began: Instant,
    buffer: ReaderBuffer,
    stage: PageStage,
}

/// Page that is wanted.
pub(super) struct PageRequest {
    /// Its rows.
    pub(super) limit: u32,
    /// Where the page before it ended.
    pub(super) after: Option<(AccountName, ObjectKey)>,
    /// Set if accounts that are read live follow the last page.
    pub(super) then_live: bool,
}

enum PageStage {
    /// Nothing is written.
    Begin,
    Items,
    /// All is in the buffer.
    Written,
    /// The client has got all, or an error.
    Ended,
}

/// End of a page, after its items.
#[derive(Serialize)]
struct PageEnd<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<UnreadableName<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#continue: Option<String>,
    position: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    uncached: &'a [String],
}

// === impl PageWriter ===

impl PageWriter {
    pub(super) async fn open(
        state: RestState,
        selection: Selection,
        request: PageRequest,
    ) -> Result<Self, StoreError> {
        let PageRequest { limit, after, then_live } = request;
        let query = ObjectQuery { after, limit, ..selection.query.clone() };
        let positions = state.store.positions(&state.tenant, query.accounts.as_deref()).await?;
        let positions = positions.into_iter().map(|(account, at)| (account, at.seq)).collect();
        Ok(Self {
            buffer: state.read_buffers.reader(),
            state,
            selection,
            query,
            limit,
            then_live,
            left: limit,
            position: Positions(positions).to_string(),
            unreadable: Vec::new(),
            found: false,
            began: Instant::now(),
            stage: PageStage::Begin,
        })
    }

    /// Returns the next piece of the response; none at its end.
    pub(super) async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            match self.buffer.next_piece() {
                _ if matches!(self.stage, PageStage::Ended) => return None,
                NextPiece::Piece(piece) => return Some(Ok(piece)),
                NextPiece::Empty if matches!(self.stage, PageStage::Written) => return None,
                NextPiece::Empty => {}
                NextPiece::Cut => {
                    info!("a page was ended: its reader took nothing for too long");
                    return Some(Err(self.fail("the reader was too slow")));
                }
            }
            if let Err(error) = self.read().await {
                warn!(error = report(&error), "a page was ended");
                return Some(Err(self.fail("the store did not answer")));
            }
        }
    }

    /// Ends the response without its end, so that the client sees that it is incomplete.
    fn fail(&mut self, reason: &'static str) -> io::Error {
        self.stage = PageStage::Ended;
        io::Error::other(reason)
    }

    /// Reads and writes the next chunk.
    pub(super) async fn read(&mut self) -> Result<(), StoreError> {
        self.buffer.reserve().await;
        let chunk = self.state.store.objects_within(&self.query, CHUNK_BYTES).await?;
        let ObjectChunk { objects, unreadable, last, more } = chunk;
        let rows = u32::try_from(objects.len() + unreadable.len()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(rows);
        self.query.limit = rows.saturating_mul(4).max(MEASURED).min(self.left);
        let mut text = Vec::new();
        if matches!(self.stage, PageStage::Begin) {
            text.extend_from_slice(b"{\"items\":[");
            self.stage = PageStage::Items;
        }
        self.unreadable(unreadable);
        for row in objects {
            if !self.selection.matches(&row) {
                continue;
            }
            match ObjectText::of(&row) {
                Ok(object) => self.item(&mut text, &object)?,
                Err(unreadable) => self.unreadable(vec![unreadable]),
            }
        }
        self.query.after = last;
        let more = more && self.query.after.is_some();
        // A page whose rows did not match is no page; go on until something did, or the end, or the caller's patience.
        if more && self.left == 0 && !self.found && self.began.elapsed() <= SEARCH {
            self.left = self.limit;
            self.query.limit = self.limit;
        }
        if !more || self.left == 0 {
            self.end(&mut text, more)?;
        }
        if !text.is_empty() {
            self.buffer.push(text);
        }
        Ok(())
    }

    fn item(&mut self, text: &mut Vec<u8>, object: &ObjectText<'_>) -> Result<(), StoreError> {
        if self.found {
            text.push(b',');
        }
        self.found = true;
        write_json(text, object)
    }

    fn unreadable(&mut self, objects: Vec<UnreadableObject>) {
        for object in &objects {
            self.state.metrics.unreadable(object);
        }
        self.unreadable.extend(objects);
    }

    fn end(&mut self, text: &mut Vec<u8>, more: bool) -> Result<(), StoreError> {
        let live = self.then_live.then(|| live_token(""));
        let end = PageEnd {
            unreadable: self.unreadable.iter().map(UnreadableName::of).collect(),
            r#continue: self.query.after.as_ref().filter(|_| more).map(token).or(live),
            position: &self.position,
            uncached: &self.selection.uncached,
        };
        // The members of an object that has begun.
        text.extend_from_slice(b"],");
        let at = text.len();
        write_json(text, &end)?;
        text.remove(at);
        self.stage = PageStage::Written;
        Ok(())
    }
}

fn write_json(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), StoreError> {
    serde_json::to_writer(text, value).map_err(|source| StoreError::Json { column: "body", source })
}
