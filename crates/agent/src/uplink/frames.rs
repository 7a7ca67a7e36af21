//! Messages of the Events channel, compressed as negotiated and cut into chunks; an idle channel ends its zstd frame.

use std::{sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream};
use prost::Message;
use spindrift_protocol::{Cutter, Dictionary, IDLE_FRAME, v1};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::metrics::Metrics;

/// Chunks of one Events channel, once the compression is negotiated.
pub(super) struct Frames {
    agreed_rx: oneshot::Receiver<Option<Dictionary>>,
    messages_rx: mpsc::Receiver<v1::EventsMessage>,
    metrics: Arc<Metrics>,
    idle: Duration,
}

struct FrameWriter {
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

    /// Returns the chunks. The stream ends with the messages, or if the channel could not be opened.
    pub(super) fn into_stream(self) -> impl Stream<Item = v1::EventsUp> + Send + 'static {
        let Self { agreed_rx, messages_rx, metrics, idle } = self;
        let agreed = async move {
            let cutter = Cutter::new(agreed_rx.await.ok()?);
            Some(FrameWriter { cutter, messages_rx, metrics, idle })
        };
        let writers = stream::once(agreed).filter_map(std::future::ready);
        writers.flat_map(|writer| {
            stream::unfold(writer, async |mut writer| Some((writer.next().await?, writer)))
                .flat_map(stream::iter)
        })
    }
}

// === impl FrameWriter ===

impl FrameWriter {
    /// Returns the chunks of the next message, or the end of the frame after the idle time.
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
    use crate::status::AgentStatus;

    fn message(account: &str) -> v1::EventsMessage {
        let attach = v1::Attach { account: account.into() };
        v1::EventsMessage { message: Some(v1::events_message::Message::Attach(attach)) }
    }

    #[tokio::test]
    async fn a_frame_ends_when_the_channel_is_idle_and_begins_again_with_the_next_message() {
        let agreed = Dictionary::choose(&Dictionary::offer());
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), AgentStatus::default()));
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
            let end = frames.next().await.expect("the end follows after the idle time");
            assert_eq!(assembler.push(end), Ok(None));
        }
        drop(messages_tx);
        assert!(frames.next().await.is_none());
        assert!(metrics.wire_bytes.get() > 0 && metrics.raw_bytes.get() == 2 * 7);
    }
}
