//! From messages to what travels on the Events channel: compressed as agreed, in chunks, with an end after silence.

use std::{sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream};
use prost::Message;
use spindrift_protocol::{Cutter, Dictionary, IDLE_FRAME, v1};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::metrics::Metrics;

/// What goes up on one Events channel, once the hub has said how.
pub(super) struct Frames {
    agreed_rx: oneshot::Receiver<Option<Dictionary>>,
    messages_rx: mpsc::Receiver<v1::EventsMessage>,
    metrics: Arc<Metrics>,
    idle: Duration,
}

struct Speaking {
    cutter: Cutter,
    messages_rx: mpsc::Receiver<v1::EventsMessage>,
    metrics: Arc<Metrics>,
    idle: Duration,
}

// === impl Frames ===

impl Frames {
    pub(super) fn new(
        agreed_rx: oneshot::Receiver<Option<Dictionary>>,
        messages_rx: mpsc::Receiver<v1::EventsMessage>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { agreed_rx, messages_rx, metrics, idle: IDLE_FRAME }
    }

    /// Ends with the messages, or if the channel does not come about.
    pub(super) fn into_stream(self) -> impl Stream<Item = v1::EventsUp> + Send + 'static {
        let Self { agreed_rx, messages_rx, metrics, idle } = self;
        let agreed = async move {
            let cutter = Cutter::new(agreed_rx.await.ok()?);
            Some(Speaking { cutter, messages_rx, metrics, idle })
        };
        let speaking = stream::once(agreed).filter_map(std::future::ready);
        speaking.flat_map(|speaking| {
            stream::unfold(speaking, async |mut speaking| Some((speaking.next().await?, speaking)))
                .flat_map(stream::iter)
        })
    }
}

// === impl Speaking ===

impl Speaking {
    /// The chunks of the next message, or the end of the frame if none comes for a while.
    async fn next(&mut self) -> Option<Vec<v1::EventsUp>> {
        let message = if self.cutter.is_open() {
            let Ok(message) = timeout(self.idle, self.messages_rx.recv()).await else {
                let end: Vec<_> = self.cutter.fall_idle().into_iter().collect();
                self.count(0, &end);
                return Some(end);
            };
            message?
        } else {
            self.messages_rx.recv().await?
        };
        let chunks: Vec<_> = self.cutter.cut(&message).collect();
        self.count(message.encoded_len(), &chunks);
        Some(chunks)
    }

    fn count(&self, raw: usize, chunks: &[v1::EventsUp]) {
        self.metrics.raw_bytes.inc_by(raw as u64);
        self.metrics.wire_bytes.inc_by(chunks.iter().map(|frame| frame.chunk.len() as u64).sum());
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;
    use spindrift_protocol::Assembler;

    use super::*;
    use crate::status::Board;

    fn message(account: &str) -> v1::EventsMessage {
        let attach = v1::Attach { account: account.into() };
        v1::EventsMessage { message: Some(v1::events_message::Message::Attach(attach)) }
    }

    #[tokio::test]
    async fn a_frame_ends_when_nothing_is_said_and_begins_again_with_the_next_word() {
        let agreed = Dictionary::choose(&Dictionary::offer());
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), Board::default()));
        let (messages_tx, messages_rx) = mpsc::channel(8);
        let (agreed_tx, agreed_rx) = oneshot::channel();
        let frames =
            Frames { agreed_rx, messages_rx, metrics: metrics.clone(), idle: Duration::from_millis(1) };
        let mut frames = Box::pin(frames.into_stream());
        let mut assembler = Assembler::new(agreed);
        agreed_tx.send(agreed).unwrap();
        for account in ["one", "two"] {
            messages_tx.send(message(account)).await.unwrap();
            let frame = frames.next().await.unwrap();
            assert_eq!(assembler.push(frame), Ok(Some(message(account))));
            let end = frames.next().await.expect("it comes by itself, after a while");
            assert_eq!(assembler.push(end), Ok(None));
        }
        drop(messages_tx);
        assert!(frames.next().await.is_none());
        assert!(metrics.wire_bytes.get() > 0 && metrics.raw_bytes.get() == 2 * 7);
    }
}
