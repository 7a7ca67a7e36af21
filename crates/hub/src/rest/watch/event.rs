//! Texts of server-sent events.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream::BoxStream};
use serde::Serialize;
use tokio::time::{Instant, Sleep, sleep};

/// A stream that is silent for so long gets a comment, so that proxies keep it open.
pub(super) const SILENCE: Duration = Duration::from_secs(15);

/// Stream with comments while it is silent.
pub(super) struct KeepAlive<E> {
    pieces: BoxStream<'static, Result<Bytes, E>>,
    silence: Duration,
    silent: Pin<Box<Sleep>>,
}

/// Returns an event with one line of data.
pub(super) fn event(name: &str, data: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    let at = text.len();
    serde_json::to_writer(&mut text, data)?;
    // Objects are stored as they came. Outside of texts, which have none, line ends are blanks of JSON.
    for byte in text.iter_mut().skip(at).filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    text.extend_from_slice(b"\n\n");
    Ok(text)
}

/// Adds the position after an event to it.
pub(super) fn add_id(event: &mut Vec<u8>, id: &str) {
    event.pop();
    event.extend_from_slice(format!("id: {id}\n\n").as_bytes());
}

/// Returns the last line of a stream whose reader was too slow. Clients discard an event that does not end with an empty
/// line, so one that was sent in part is not followed by any.
pub(super) fn too_slow(within_event: bool) -> Bytes {
    const REASON: &str =
        ": disconnected: too slow, nothing was read for too long; resume with Last-Event-ID\n";
    if within_event { format!("\n{REASON}").into() } else { REASON.into() }
}

// === impl KeepAlive ===

impl<E> KeepAlive<E> {
    pub(super) fn new(
        pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        silence: Duration,
    ) -> Self {
        Self { pieces: pieces.boxed(), silence, silent: Box::pin(sleep(silence)) }
    }
}

impl<E> Stream for KeepAlive<E> {
    type Item = Result<Bytes, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A stream with a piece of an event always has the next one, so a comment is never within an event.
        let next = match self.pieces.poll_next_unpin(cx) {
            Poll::Ready(next) => next,
            Poll::Pending => {
                ready!(self.silent.as_mut().poll(cx));
                Some(Ok(Bytes::from_static(b":\n\n")))
            }
        };
        let until = Instant::now() + self.silence;
        self.silent.as_mut().reset(until);
        Poll::Ready(next)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn an_event_has_one_line_of_data_and_its_position() {
        let pretty: Box<RawValue> = serde_json::from_str("{\n  \"a\": \"b\\nc\"\r\n}").unwrap();
        let mut text = event("upsert", &pretty).unwrap();
        add_id(&mut text, "prod:7");
        let expected = "event: upsert\ndata: {   \"a\": \"b\\nc\"  }\nid: prod:7\n\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[tokio::test]
    async fn a_silent_stream_gets_comments() {
        let silent = futures::stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let mut stream = KeepAlive::new(silent, Duration::from_millis(1));
        for _ in 0..2 {
            assert_eq!(stream.next().await.unwrap().unwrap(), ":\n\n");
        }
    }
}
