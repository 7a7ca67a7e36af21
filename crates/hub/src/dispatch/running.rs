//! Running operation: the side of the caller, and the entry that arriving pieces find.

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

/// Operation that its caller waits for. If it is dropped, a read is cancelled; a change goes on.
#[derive(Debug)]
pub struct Running {
    /// Id.
    pub id: OperationId,
    /// Set for a change: its answer comes whole, after it has ended.
    pub mutation: bool,
    pub(super) entry: Arc<OpenOperation>,
    /// Bounded by credit.
    pub(super) events_rx: mpsc::UnboundedReceiver<Event>,
}

/// Event of a running operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Next bytes of the answer.
    Piece(Content, Bytes),
    /// End; nothing follows.
    Ended(Content, Ending),
    /// End with success, whose answer is no longer stored.
    Forgotten(Ending),
}

/// OpenOperation of an operation that has not ended.
#[derive(Debug)]
pub(super) struct OpenOperation {
    pub(super) id: OperationId,
    pub(super) arrivals_tx: mpsc::UnboundedSender<Arrival>,
    pub(super) cancel: CancellationToken,
    /// Set if its answer is stored, to be read later.
    keep: AtomicBool,
    flow: Mutex<Flow>,
}

/// Piece of an answer, with its sender.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) part: ResultPart,
    pub(super) seat: Seat,
    /// Way back to the agent. Each message acknowledges at least half a mebibyte, or a whole answer, so that few can wait.
    pub(super) down_tx: mpsc::UnboundedSender<ResultsDown>,
}

/// Credit of an answer.
#[derive(Debug)]
struct Flow {
    taken: u64,
    granted: u64,
    down_tx: Option<mpsc::UnboundedSender<ResultsDown>>,
}

// === impl Running ===

impl Running {
    /// Next event; none if the hub stops before the end.
    pub async fn next(&mut self) -> Option<Event> {
        let event = self.events_rx.recv().await?;
        if let Event::Piece(_, bytes) = &event {
            self.entry.take(bytes.len());
        }
        Some(event)
    }

    /// Lets it go on without its caller; its answer is stored for a while.
    pub fn detach(self) {
        self.entry.keep.store(true, Ordering::Relaxed);
    }
}

// === impl OpenOperation ===

impl OpenOperation {
    pub(super) fn new(id: OperationId, keep: bool, arrivals_tx: mpsc::UnboundedSender<Arrival>) -> Arc<Self> {
        let flow = Mutex::new(Flow { taken: 0, granted: FIRST_CREDIT, down_tx: None });
        Arc::new(Self { id, arrivals_tx, cancel: CancellationToken::new(), keep: keep.into(), flow })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.keep.load(Ordering::Relaxed)
    }

    /// Offset up to which the agent may send.
    pub(super) fn granted(&self) -> u64 {
        self.flow.lock().granted
    }

    /// The answer begins, perhaps again, on this channel.
    pub(super) fn begin(&self, down_tx: mpsc::UnboundedSender<ResultsDown>) {
        *self.flow.lock() = Flow { taken: 0, granted: FIRST_CREDIT, down_tx: Some(down_tx) };
    }

    /// Counts bytes that the caller has taken, and grants as many more, in large steps.
    pub(super) fn take(&self, bytes: usize) {
        let mut flow = self.flow.lock();
        flow.taken += bytes as u64;
        let most = flow.taken + FIRST_CREDIT;
        if most - flow.granted < FIRST_CREDIT / 2 {
            return;
        }
        flow.granted = most;
        if let Some(down_tx) = &flow.down_tx {
            // If the channel is gone, the agent sends the answer again.
            down_tx.send(ResultsDown::Credit(self.id, most)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_follows_the_bytes_taken_in_large_steps() {
        let (arrivals_tx, _arrivals_rx) = mpsc::unbounded_channel();
        let (down_tx, mut down_rx) = mpsc::unbounded_channel();
        let entry = OpenOperation::new(OperationId::fresh(), false, arrivals_tx);
        entry.begin(down_tx);
        let half = usize::try_from(FIRST_CREDIT / 2).unwrap();
        entry.take(half - 1);
        assert!(down_rx.try_recv().is_err(), "not for every byte");
        entry.take(1);
        let expected = ResultsDown::Credit(entry.id, FIRST_CREDIT + FIRST_CREDIT / 2);
        assert_eq!(down_rx.try_recv(), Ok(expected));
        assert_eq!(entry.granted(), FIRST_CREDIT + FIRST_CREDIT / 2);
    }
}
