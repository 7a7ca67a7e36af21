//! Results channel: answers of operations, piece by piece, and their credit.

use std::sync::Arc;

use futures::{
    Stream, StreamExt,
    stream::{BoxStream, select},
};
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::{ResultPart, ResultsDown, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, UnboundedReceiverStream};
use tonic::Status;
use tracing::warn;

use super::{Context, sessions::LiveSession};
use crate::store::{Seat, SessionInfo};

/// Messages to the agent: few, since each acknowledges half a mebibyte or a whole answer.
pub(super) type DownStream = BoxStream<'static, Result<v1::ResultsDown, Status>>;

pub(super) struct ResultsChannel {
    context: Arc<Context>,
    seat: Seat,
    live: Arc<LiveSession>,
    down_tx: mpsc::UnboundedSender<ResultsDown>,
    /// Answers to heartbeats. At most one waits, however many an agent sends that does not read.
    heartbeats_tx: mpsc::Sender<ResultsDown>,
}

// === impl ResultsChannel ===

impl ResultsChannel {
    pub(super) fn open(
        context: Arc<Context>,
        info: SessionInfo,
        live: Arc<LiveSession>,
    ) -> (Self, DownStream) {
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        let (heartbeats_tx, heartbeats_rx) = mpsc::channel(1);
        let seat = Seat { agent: info.agent, incarnation: info.incarnation };
        // Operations keep their sender; the channel ends with its session all the same.
        let down = select(UnboundedReceiverStream::new(down_rx), ReceiverStream::new(heartbeats_rx))
            .map(|message: ResultsDown| Ok(message.into()))
            .take_until(live.tasks().token().cancelled_owned());
        (Self { context, seat, live, down_tx, heartbeats_tx }, down.boxed())
    }

    /// Runs until the channel or the session ends. It never waits with an arriving piece: credit bounds them.
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
            if message.heartbeat {
                // If one is waiting, the channel is not idle.
                self.heartbeats_tx.try_send(ResultsDown::Heartbeat).ok();
                continue;
            }
            match ResultPart::try_from(message) {
                Ok(part) => self.context.dispatch.arrived(self.seat.clone(), part, self.down_tx.clone()),
                // One invalid answer does not end the others.
                Err(invalid) => warn!(agent = %self.seat.agent, %invalid, "a piece of an answer was ignored"),
            }
        }
    }
}
