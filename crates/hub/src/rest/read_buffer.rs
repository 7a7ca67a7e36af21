//! Texts that REST has read for its clients and that they have not taken yet, bounded in bytes for each and for all.
//!
//! ```text
//! reserve ─▶ store ─▶ push ─▶ next_piece ─▶ hyper ─▶ socket        one chunk at a time, when the client has taken the last
//!    │ no room: readers that have stalled for CONTENDED are cut
//! sweep ─▶ readers that have stalled for STALLED are cut
//! ```
//!
//! A client that is cut loses its buffer at once. It learns the reason when it reads on, and resumes from the last position
//! that it has received.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    pin,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, interval, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// Bytes of objects that are read for one client at a time, unless a single object has more.
pub(super) const CHUNK_BYTES: usize = 1024 * 1024;
/// Bytes for all clients together: 64 that have stalled, each with a whole chunk.
const TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// Unit of the semaphore, whose permits are fewer than bytes.
const UNIT: usize = 1024;
/// A client that takes nothing for so long is cut.
const STALLED: Duration = Duration::from_secs(30);
/// The same while others wait for room; shorter than a pause of the network.
const CONTENDED: Duration = Duration::from_secs(2);
/// Interval at which stalled clients are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// Size of one piece. hyper queues some 400 KB of pieces for a connection, and would hold a whole large object otherwise.
const PIECE_BYTES: usize = 64 * 1024;

/// Buffers of all clients.
#[derive(Debug)]
pub struct ReadBuffers {
    room: Arc<Semaphore>,
    readers: Mutex<Vec<Weak<Mutex<BufferedTexts>>>>,
    /// Stall after which a client is cut while others wait for room.
    contended: Duration,
    metrics: Arc<Metrics>,
}

/// Buffer of one client.
#[derive(Debug)]
pub(super) struct ReaderBuffer {
    all: Arc<ReadBuffers>,
    texts: Arc<Mutex<BufferedTexts>>,
}

/// Next part of a response.
#[derive(Debug)]
pub(super) enum NextPiece {
    Piece(Bytes),
    /// The client has taken everything.
    Empty,
    /// The client was too slow; its buffer is gone.
    Cut,
}

#[derive(Debug)]
struct BufferedTexts {
    texts: VecDeque<Vec<u8>>,
    /// Bytes of the first text that the client has taken.
    taken: usize,
    /// Room of these texts.
    permit: Option<OwnedSemaphorePermit>,
    /// When the client last took something, or waited for more.
    progressed: Instant,
    cut: bool,
}

// === impl ReadBuffers ===

impl ReadBuffers {
    /// Creates the buffers; none is in use.
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        let room = Arc::new(Semaphore::new(TOTAL_BYTES / UNIT));
        Arc::new(Self { room, readers: Mutex::default(), contended: CONTENDED, metrics })
    }

    /// Cuts stalled clients until shutdown.
    pub async fn sweep(self: Arc<Self>, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut interval = interval(SWEEP);
        while shutdown.run_until_cancelled(interval.tick()).await.is_some() {
            self.cut_stalled(STALLED);
        }
        Ok(())
    }

    pub(super) fn reader(self: &Arc<Self>) -> ReaderBuffer {
        let texts = BufferedTexts {
            texts: VecDeque::new(),
            taken: 0,
            permit: None,
            progressed: Instant::now(),
            cut: false,
        };
        let texts = Arc::new(Mutex::new(texts));
        self.readers.lock().push(Arc::downgrade(&texts));
        ReaderBuffer { all: Arc::clone(self), texts }
    }

    fn cut_stalled(&self, after: Duration) {
        let mut readers = self.readers.lock();
        readers.retain(|reader| reader.strong_count() > 0);
        for reader in readers.iter().filter_map(Weak::upgrade) {
            let mut texts = reader.lock();
            if !texts.texts.is_empty() && texts.progressed.elapsed() >= after {
                texts.cut();
                self.metrics.slow_readers.inc();
            }
        }
        let free = self.room.available_permits() * UNIT;
        self.metrics.read_buffer_bytes.set(i64::try_from(TOTAL_BYTES - free).unwrap_or(i64::MAX));
    }
}

// === impl ReaderBuffer ===

impl ReaderBuffer {
    /// Waits for room for a chunk.
    pub(super) async fn reserve(&self) {
        let permits = u32::try_from(CHUNK_BYTES / UNIT).unwrap_or(u32::MAX);
        let acquired = Arc::clone(&self.all.room).acquire_many_owned(permits);
        pin!(acquired);
        loop {
            tokio::select! {
                biased;
                permit = &mut acquired => {
                    let mut texts = self.texts.lock();
                    // The semaphore is never closed.
                    texts.permit = permit.ok();
                    texts.progressed = Instant::now();
                    return;
                }
                () = sleep(SWEEP) => self.all.cut_stalled(self.all.contended),
            }
        }
    }

    /// Appends a text.
    pub(super) fn push(&self, text: Vec<u8>) {
        let mut texts = self.texts.lock();
        if !texts.cut {
            texts.progressed = Instant::now();
            texts.texts.push_back(text);
        }
    }

    /// Changes the last text, if the client has taken nothing of it.
    pub(super) fn amend_last(&self, amend: impl FnOnce(&mut Vec<u8>)) {
        let mut texts = self.texts.lock();
        let untouched = texts.texts.len() > 1 || texts.taken == 0;
        if let Some(last) = texts.texts.back_mut().filter(|_| untouched) {
            amend(last);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.lock().texts.is_empty()
    }

    /// Whether the client has taken a part of a text, but not all of it.
    pub(super) fn is_within_text(&self) -> bool {
        self.texts.lock().taken > 0
    }

    /// Takes the next piece; the room is free again when the last one is taken.
    pub(super) fn next_piece(&self) -> NextPiece {
        let mut texts = self.texts.lock();
        texts.progressed = Instant::now();
        if texts.cut {
            return NextPiece::Cut;
        }
        let taken = texts.taken;
        let Some(first) = texts.texts.front() else {
            texts.permit = None;
            return NextPiece::Empty;
        };
        let left = first.get(taken..).unwrap_or_default();
        if left.len() > PIECE_BYTES {
            // A copy: a slice would keep the whole text for as long as the piece waits in the queue of the connection.
            let piece = Bytes::copy_from_slice(left.get(..PIECE_BYTES).unwrap_or_default());
            texts.taken += PIECE_BYTES;
            return NextPiece::Piece(piece);
        }
        let piece = if taken > 0 { Bytes::copy_from_slice(left) } else { Bytes::new() };
        texts.taken = 0;
        let whole = texts.texts.pop_front().unwrap_or_default();
        NextPiece::Piece(if taken > 0 { piece } else { whole.into() })
    }
}

// === impl BufferedTexts ===

impl BufferedTexts {
    fn cut(&mut self) {
        self.texts = VecDeque::new();
        self.permit = None;
        self.cut = true;
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    fn buffers() -> Arc<ReadBuffers> {
        let buffers = ReadBuffers::new(Arc::new(Metrics::register(&mut Registry::default(), 64)));
        let mut buffers = Arc::into_inner(buffers).unwrap();
        buffers.contended = Duration::ZERO;
        Arc::new(buffers)
    }

    #[tokio::test]
    async fn a_large_text_is_taken_in_pieces() {
        let reader = buffers().reader();
        reader.reserve().await;
        let text: Vec<u8> = (0..200_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        reader.push(text.clone());
        reader.push(b"next".to_vec());
        let mut taken = Vec::new();
        let mut pieces = 0;
        while let NextPiece::Piece(piece) = reader.next_piece() {
            assert!(piece.len() <= PIECE_BYTES);
            taken.extend_from_slice(&piece);
            pieces += 1;
        }
        assert_eq!((taken, pieces), ([&text[..], b"next"].concat(), 5));
        assert!(!reader.is_within_text());
    }

    #[tokio::test]
    async fn stalled_readers_are_cut_when_another_waits_for_room() {
        let buffers = buffers();
        let mut stalled = Vec::new();
        for _ in 0..TOTAL_BYTES / CHUNK_BYTES {
            let reader = buffers.reader();
            reader.reserve().await;
            reader.push(vec![b'x'; 3 * PIECE_BYTES]);
            assert!(matches!(reader.next_piece(), NextPiece::Piece(_)));
            stalled.push(reader);
        }
        assert_eq!(buffers.room.available_permits(), 0);
        let waiting = buffers.reader();
        waiting.reserve().await;
        let cut = stalled.iter().filter(|reader| matches!(reader.next_piece(), NextPiece::Cut)).count();
        assert_eq!((cut, buffers.metrics.slow_readers.get()), (stalled.len(), stalled.len() as u64));
        waiting.push(b"served".to_vec());
        assert!(matches!(waiting.next_piece(), NextPiece::Piece(piece) if piece == "served"));
    }

    #[tokio::test]
    async fn a_reader_that_has_taken_everything_is_never_cut() {
        let buffers = buffers();
        let reader = buffers.reader();
        reader.reserve().await;
        reader.push(b"all".to_vec());
        assert!(matches!(reader.next_piece(), NextPiece::Piece(_)));
        assert!(matches!(reader.next_piece(), NextPiece::Empty));
        buffers.cut_stalled(Duration::ZERO);
        assert!(matches!(reader.next_piece(), NextPiece::Empty));
        assert_eq!(buffers.room.available_permits(), TOTAL_BYTES / UNIT);
    }
}
