//! One answer, as far as it is written and sent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use spindrift_model::{Content, Ending, OperationId};
use spindrift_protocol::{FIRST_CREDIT, RESULT_PIECE_BYTES, ResultPart};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::config::ResponseRetries;

/// What a read may have written and not sent: a few pieces, so that the next one is there when it can go.
const UNSENT_BYTES: u64 = 4 * RESULT_PIECE_BYTES as u64;

/// An answer.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) serial: u64,
    pub(super) keeping: Keeping,
    pub(super) content: Content,
    /// What is written and still here, in order.
    pieces: VecDeque<Bytes>,
    /// The offset of the first of them.
    first: u64,
    sent: u64,
    /// How far it may be sent.
    pub(super) credit: u64,
    pub(super) ending: Option<Ending>,
    pub(super) closed_at: Option<Instant>,
    /// When its ending was sent.
    ended_at: Option<Instant>,
    /// How often it was sent again in this session.
    tries: u32,
    /// Whether it waits to be asked for: it was sent often enough.
    pub(super) resting: bool,
    /// Whether it has its place among those whose turn comes.
    pub(super) turn: bool,
    /// Told when there is room for more.
    pub(super) room: Arc<Notify>,
    /// Calls the operation off.
    pub(super) cancelled: CancellationToken,
}

/// What becomes of bytes that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// They stay until the hub has all of them: what was done cannot be done again to see what it answers.
    Whole,
    /// They are gone.
    Passing,
}

// === impl Letter ===

impl Letter {
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
            resting: false,
            turn: false,
            room: Arc::default(),
            cancelled,
        }
    }

    /// How many bytes of it are here.
    pub(super) fn held(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    fn written(&self) -> u64 {
        self.first + self.held() as u64
    }

    /// Whether more may be written. What is kept whole is kept anyway.
    pub(super) fn has_room(&self) -> bool {
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

    /// Whether something of it has been sent.
    pub(super) fn was_sent(&self) -> bool {
        self.sent > 0 || self.ended_at.is_some()
    }

    /// Sends it from its first byte, as if it never was.
    pub(super) fn begin_anew(&mut self) {
        (self.sent, self.credit, self.ended_at) = (0, FIRST_CREDIT, None);
        (self.tries, self.resting) = (0, false);
    }

    /// Sends it no more until somebody asks.
    pub(super) fn rest(&mut self) {
        self.begin_anew();
        self.resting = true;
    }

    /// Sends it once more; false if that was done often enough.
    pub(super) fn try_again(&mut self, retries: &ResponseRetries) -> bool {
        let tries = self.tries + 1;
        self.begin_anew();
        self.tries = tries;
        retries.enabled && tries <= retries.max_retries
    }

    /// When it is sent again, if it was sent and nobody says that it arrived.
    pub(super) fn resend_at(&self, retries: &ResponseRetries) -> Option<Instant> {
        let sent_at = self.ended_at.filter(|_| retries.enabled && !self.resting)?;
        Some(sent_at + Duration::from_millis(retries.back_off_ms))
    }

    /// Whether something can be sent now.
    pub(super) fn has_something_to_say(&self) -> bool {
        let written = self.written();
        !self.resting
            && self.ended_at.is_none()
            && (self.sent < written.min(self.credit) || self.sent == written && self.ending.is_some())
    }

    /// The next piece, if there is one.
    pub(super) fn next_part(&mut self, operation: OperationId) -> Option<ResultPart> {
        if !self.has_something_to_say() {
            return None;
        }
        let offset = self.sent;
        let chunk = self.take();
        self.sent += chunk.len() as u64;
        let ending = self.ending.clone().filter(|_| self.sent == self.written());
        if ending.is_some() {
            self.ended_at = Some(Instant::now());
        }
        self.room.notify_waiters();
        Some(ResultPart { operation, content: self.content, offset, chunk, ending })
    }

    /// The bytes after what was sent: of one piece, and no further than credit goes.
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
