//! Messages of the Events channel, compressed as negotiated and cut into chunks, with heartbeats in between; an idle
//! channel ends its zstd frame.

use std::{sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream};
use prost::Message;
use spindrift_protocol::{Cutter, Dictionary, IDLE_FRAME, v1};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};

use super::heartbeat::Heartbeat;
use crate::metrics::Metrics;

/// Features of one Events channel that agent and hub have.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Dictionary of the compression; none if nothing is compressed.
    pub(super) dictionary: Option<Dictionary>,
    /// Heartbeats, if the hub answers them.
    pub(super) heartbeat: Option<Heartbeat>,
}

/// Chunks of one Events channel, once its features are negotiated.
pub(super) struct Frames {
    agreed_rx: oneshot::Receiver<Agreed>,
    messages_rx: mpsc::Receiver<v1::EventsMessage>,
    metrics: Arc<Metrics>,
    idle: Duration,
}

struct FrameWriter {
    cutter: Cutter,
    heartbeat: Option<Heartbeat>,
    messages_rx: mpsc::Receiver<v1::EventsMessage>,
    metrics: Arc<Metrics>,
    idle: Duration,
    /// Time of the last message.
    last_message: Instant,
}

// === impl Frames ===

impl Frames {
    pub(super) fn new(
        agreed_rx: oneshot::Receiver<Agreed>,
        messages_rx: mpsc::Receiver<v1::EventsMessage>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { agreed_rx, messages_rx, metrics, idle: IDLE_FRAME }
    }

    /// Returns the chunks. The stream ends with the messages, or if the channel could not be opened.
    pub(super) fn into_stream(self) -> impl Stream<Item = v1::EventsUp> + Send + 'static {
        let Self { agreed_rx, messages_rx, metrics, idle } = self;
        let agreed = async move {
            let Agreed { dictionary, heartbeat } = agreed_rx.await.ok()?;
            let cutter = Cutter::new(dictionary);
            Some(FrameWriter { cutter, heartbeat, messages_rx, metrics, idle, last_message: Instant::now() })
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
    /// Returns the chunks of the next message, a heartbeat, or the end of the frame after the idle time.
    async fn next(&mut self) -> Option<Vec<v1::EventsUp>> {
        let message = tokio::select! {
            biased;
            // First, since the hub's direction may be idle while ours is not.
            () = Heartbeat::due_if_any(&mut self.heartbeat) => {
                return Some(vec![v1::EventsUp { heartbeat: true, ..v1::EventsUp::default() }]);
            }
            message = self.messages_rx.recv() => message?,
            () = sleep_until(self.last_message + self.idle), if self.cutter.is_open() => {
                let end: Vec<_> = self.cutter.fall_idle().into_iter().collect();
                self.count(0, &end);
                return Some(end);
            }
        };
        self.last_message = Instant::now();
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
        agreed_tx.send(Agreed { dictionary: agreed, heartbeat: None }).unwrap();
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

    #[tokio::test]
    async fn an_idle_channel_has_heartbeats_and_its_frame_ends_all_the_same() {
        let agreed = Dictionary::choose(&Dictionary::offer());
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), AgentStatus::default()));
        let (messages_tx, messages_rx) = mpsc::channel(8);
        let (agreed_tx, agreed_rx) = oneshot::channel();
        let frames = Frames { agreed_rx, messages_rx, metrics, idle: Duration::from_millis(10) };
        let mut frames = Box::pin(frames.into_stream());
        let mut assembler = Assembler::new(agreed);
        // Shorter than the idle time of a frame, which heartbeats must not prolong.
        let heartbeat = Some(Heartbeat::new(Duration::from_millis(3)));
        agreed_tx.send(Agreed { dictionary: agreed, heartbeat }).unwrap();
        messages_tx.send(message("one")).await.unwrap();
        let mut ends = 0;
        let mut heartbeats = 0;
        while heartbeats < 10 {
            let frame = frames.next().await.unwrap();
            heartbeats += usize::from(frame.heartbeat);
            let is_end = !frame.heartbeat && assembler.push(frame.clone()) == Ok(None);
            ends += usize::from(is_end);
            assert_eq!(assembler.push(v1::EventsUp { heartbeat: true, ..frame }), Ok(None));
        }
        assert_eq!(ends, 1);
    }
}
