//! An operation under way, as its caller sees it, and as what arrives finds it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use spindrift_model::{Content, Ending, OperationId};
use spindrift_protocol::{FIRST_CREDIT, ResultPart, ResultsDown};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::store::Seat;

/// An operation that its caller waits for. Dropped, what only reads is called off; what changes something goes on.
#[derive(Debug)]
pub struct Running {
    /// Its id.
    pub id: OperationId,
    /// Whether it may change something: then its answer comes whole, after it has ended.
    pub mutation: bool,
    pub(super) entry: Arc<Entry>,
    /// Bounded by credit: nobody sends more than was granted for what was taken.
    pub(super) events_rx: mpsc::UnboundedReceiver<Event>,
}

/// What happens to an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next bytes of its answer.
    Piece(Content, Bytes),
    /// It ended; nothing follows.
    Ended(Content, Ending),
    /// It ended well, and its answer is not kept any more.
    Forgotten(Ending),
}

/// What this hub knows of an operation that has not ended.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: OperationId,
    pub(super) arrivals_tx: mpsc::UnboundedSender<Arrival>,
    pub(super) cancel: CancellationToken,
    /// Whether its answer is stored: somebody may ask for it later.
    keep: AtomicBool,
    flow: Mutex<Flow>,
}

/// A piece of an answer, and who sent it.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) part: ResultPart,
    pub(super) seat: Seat,
    /// The way back. Each word answers at least half a mebibyte, or a whole answer, so that few can wait.
    pub(super) down_tx: mpsc::UnboundedSender<ResultsDown>,
}

/// How far the answer may go on.
#[derive(Debug)]
struct Flow {
    taken: u64,
    granted: u64,
    down_tx: Option<mpsc::UnboundedSender<ResultsDown>>,
}

// === impl Running ===

impl Running {
    /// The next event; none if the hub stops before it ends.
    pub async fn next(&mut self) -> Option<Event> {
        let event = self.events_rx.recv().await?;
        if let Event::Piece(_, bytes) = &event {
            self.entry.take(bytes.len());
        }
        Some(event)
    }

    /// Lets it go on without its caller; its answer is kept for a while.
    pub fn detach(self) {
        self.entry.keep.store(true, Ordering::Relaxed);
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(id: OperationId, keep: bool, arrivals_tx: mpsc::UnboundedSender<Arrival>) -> Arc<Self> {
        let flow = Mutex::new(Flow { taken: 0, granted: FIRST_CREDIT, down_tx: None });
        Arc::new(Self { id, arrivals_tx, cancel: CancellationToken::new(), keep: keep.into(), flow })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.keep.load(Ordering::Relaxed)
    }

    /// How far the answer may have come by now.
    pub(super) fn granted(&self) -> u64 {
        self.flow.lock().granted
    }

    /// The answer begins, perhaps anew, on this channel.
    pub(super) fn begin(&self, down_tx: mpsc::UnboundedSender<ResultsDown>) {
        *self.flow.lock() = Flow { taken: 0, granted: FIRST_CREDIT, down_tx: Some(down_tx) };
    }

    /// So much more was taken: as much more may come, told in large steps.
    pub(super) fn take(&self, bytes: usize) {
        let mut flow = self.flow.lock();
        flow.taken += bytes as u64;
        let most = flow.taken + FIRST_CREDIT;
        if most - flow.granted < FIRST_CREDIT / 2 {
            return;
        }
        flow.granted = most;
        if let Some(down_tx) = &flow.down_tx {
            // A channel that is gone leaves the answer to be sent anew.
            down_tx.send(ResultsDown::Credit(self.id, most)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_follows_what_is_taken_in_large_steps() {
        let (arrivals_tx, _arrivals_rx) = mpsc::unbounded_channel();
        let (down_tx, mut down_rx) = mpsc::unbounded_channel();
        let entry = Entry::new(OperationId::fresh(), false, arrivals_tx);
        entry.begin(down_tx);
        let half = usize::try_from(FIRST_CREDIT / 2).unwrap();
        entry.take(half - 1);
        assert!(down_rx.try_recv().is_err(), "not for every crumb");
        entry.take(1);
        let expected = ResultsDown::Credit(entry.id, FIRST_CREDIT + FIRST_CREDIT / 2);
        assert_eq!(down_rx.try_recv(), Ok(expected));
        assert_eq!(entry.granted(), FIRST_CREDIT + FIRST_CREDIT / 2);
    }
}
