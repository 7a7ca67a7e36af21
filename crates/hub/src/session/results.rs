//! The Results channel: answers of operations, piece by piece; how far each may go on.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream::BoxStream};
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::{ResultPart, ResultsDown, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;
use tracing::warn;

use super::{Context, sessions::LiveSession};
use crate::store::{Seat, SessionInfo};

/// What goes down: few words, since each answers half a mebibyte or a whole answer.
pub(super) type Words = BoxStream<'static, Result<v1::ResultsDown, Status>>;

pub(super) struct ResultsChannel {
    context: Arc<Context>,
    seat: Seat,
    live: Arc<LiveSession>,
    down_tx: mpsc::UnboundedSender<ResultsDown>,
}

// === impl ResultsChannel ===

impl ResultsChannel {
    pub(super) fn open(context: Arc<Context>, info: SessionInfo, live: Arc<LiveSession>) -> (Self, Words) {
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        let seat = Seat { agent: info.agent, incarnation: info.incarnation };
        // Operations hold on to their way back; the channel ends with its session all the same.
        let words = UnboundedReceiverStream::new(down_rx)
            .map(|word: ResultsDown| Ok(word.into()))
            .take_until(live.tasks().token().cancelled_owned());
        (Self { context, seat, live, down_tx }, words.boxed())
    }

    /// Runs until the channel or the session ends. What arrives is never waited with: credit bounds it.
    pub(super) async fn run(
        self,
        mut up: impl Stream<Item = Result<v1::ResultsUp, Status>> + Unpin,
    ) -> Result<(), BoxError> {
        let token = self.live.tasks().token();
        loop {
            let message = tokio::select! {
                biased;
                () = token.cancelled() => return Ok(()),
                () = self.down_tx.closed() => return Ok(()),
                message = up.next() => message,
            };
            let Some(Ok(message)) = message else { return Ok(()) };
            match ResultPart::try_from(message) {
                Ok(part) => self.context.dispatch.arrived(self.seat.clone(), part, self.down_tx.clone()),
                // One answer that makes no sense is no reason to drop all others.
                Err(invalid) => warn!(agent = %self.seat.agent, %invalid, "a piece of an answer was ignored"),
            }
        }
    }
}
