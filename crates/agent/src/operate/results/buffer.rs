//! Result of one operation, as far as it is written and sent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use spindrift_model::{Content, Ending, OperationId};
use spindrift_protocol::{FIRST_CREDIT, RESULT_PIECE_BYTES, ResultPart};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::config::ResponseRetries;

/// Bytes that a read may have written and not sent: a few pieces, so that the next one is ready when it may be sent.
const UNSENT_BYTES: u64 = 4 * RESULT_PIECE_BYTES as u64;

/// Buffered result.
#[derive(Debug)]
pub(super) struct ResultBuffer {
    pub(super) serial: u64,
    pub(super) keeping: Keeping,
    pub(super) content: Content,
    /// Pieces that are written and still here, in order.
    pieces: VecDeque<Bytes>,
    /// The offset of the first of them.
    first: u64,
    sent: u64,
    /// Offset up to which it may be sent.
    pub(super) credit: u64,
    pub(super) ending: Option<Ending>,
    pub(super) closed_at: Option<Instant>,
    /// Time at which its ending was sent.
    ended_at: Option<Instant>,
    /// Number of times that it was sent again in this session.
    tries: u32,
    /// Set if it was sent often enough: it waits until its id comes again.
    pub(super) parked: bool,
    /// Set if it is scheduled to be sent.
    pub(super) scheduled: bool,
    /// Notified when there is space for more.
    pub(super) space: Arc<Notify>,
    /// Cancels the operation.
    pub(super) cancelled: CancellationToken,
}

/// Handling of bytes that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// They stay until the hub has all of them: a change cannot be made again to get its answer.
    Whole,
    /// They are dropped.
    Passing,
}

// === impl ResultBuffer ===

impl ResultBuffer {
    pub(super) fn new(serial: u64, keeping: Keeping, cancelled: CancellationToken) -> Self {
        Self {
            serial,
            keeping,
            content: Content::default(),
            pieces: VecDeque::new(),
            first: 0,
            sent: 0,
            credit: FIRST_CREDIT,
            ending: None,
            closed_at: None,
            ended_at: None,
            tries: 0,
            parked: false,
            scheduled: false,
            space: Arc::default(),
            cancelled,
        }
    }

    /// Number of bytes in the buffer.
    pub(super) fn held(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    fn written(&self) -> u64 {
        self.first + self.held() as u64
    }

    /// Whether more may be written. A result that is kept whole has no limit.
    pub(super) fn has_space(&self) -> bool {
        self.keeping == Keeping::Whole || self.written() - self.sent < UNSENT_BYTES
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    pub(super) fn lose_body(&mut self) {
        self.pieces.clear();
        self.sent = 0;
    }

    /// Whether some of it has been sent.
    pub(super) fn was_sent(&self) -> bool {
        self.sent > 0 || self.ended_at.is_some()
    }

    /// Sends it from its first byte, as if it had never been sent.
    pub(super) fn restart(&mut self) {
        (self.sent, self.credit, self.ended_at) = (0, FIRST_CREDIT, None);
        (self.tries, self.parked) = (0, false);
    }

    /// Stops sending until its id comes again.
    pub(super) fn park(&mut self) {
        self.restart();
        self.parked = true;
    }

    /// Sends it once more; false if the retries are used up.
    pub(super) fn resend(&mut self, retries: &ResponseRetries) -> bool {
        let tries = self.tries + 1;
        self.restart();
        self.tries = tries;
        retries.enabled && tries <= retries.max_retries
    }

    /// Time at which it is sent again, if it was sent and is not acknowledged.
    pub(super) fn resend_at(&self, retries: &ResponseRetries) -> Option<Instant> {
        let sent_at = self.ended_at.filter(|_| retries.enabled && !self.parked)?;
        Some(sent_at + Duration::from_millis(retries.back_off_ms))
    }

    /// Whether something can be sent now.
    pub(super) fn is_ready(&self) -> bool {
        let written = self.written();
        !self.parked
            && self.ended_at.is_none()
            && (self.sent < written.min(self.credit) || self.sent == written && self.ending.is_some())
    }

    /// Returns the next piece, if there is one.
    pub(super) fn next_part(&mut self, operation: OperationId) -> Option<ResultPart> {
        if !self.is_ready() {
            return None;
        }
        let offset = self.sent;
        let chunk = self.take();
        self.sent += chunk.len() as u64;
        let ending = self.ending.clone().filter(|_| self.sent == self.written());
        if ending.is_some() {
            self.ended_at = Some(Instant::now());
        }
        self.space.notify_waiters();
        Some(ResultPart { operation, content: self.content, offset, chunk, ending })
    }

    /// Returns the next bytes to send: of one piece, and no further than the credit.
    fn take(&mut self) -> Bytes {
        let credit = usize::try_from(self.credit.saturating_sub(self.sent)).unwrap_or(usize::MAX);
        let most = RESULT_PIECE_BYTES.min(credit);
        if self.keeping == Keeping::Passing {
            let Some(front) = self.pieces.front_mut() else { return Bytes::new() };
            let chunk = front.split_to(front.len().min(most));
            if front.is_empty() {
                self.pieces.pop_front();
            }
            self.first += chunk.len() as u64;
            return chunk;
        }
        let mut begin = usize::try_from(self.sent).unwrap_or(usize::MAX);
        for piece in &self.pieces {
            if begin < piece.len() {
                return piece.slice(begin..piece.len().min(begin + most));
            }
            begin -= piece.len();
        }
        Bytes::new()
    }
}
