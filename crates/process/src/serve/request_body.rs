//! Bodies of HTTP requests: within a deadline, and within a budget for all of them.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

use super::budget::{ByteBudget, ByteHold};

/// Time that a client has for a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyTime {
    /// Longest pause.
    pause: Duration,
    /// Longest duration.
    total: Duration,
}

/// Longest pause of a client within a body.
const BODY_PAUSE: Duration = Duration::from_secs(10);

/// Longest duration of a body: 64 MiB at a megabyte per second.
const BODY_DEADLINE: Duration = Duration::from_mins(1);

/// Bytes of one body that count. No handler keeps more of a body; it drops what exceeds its own limit.
const LARGEST_HELD: usize = 64 * 1024 * 1024;

/// Bytes of all bodies of a server: one of the largest and some usual ones.
const BODIES: usize = 96 * 1024 * 1024;

/// Bytes of all bodies of one address.
const BODIES_PER_ADDRESS: usize = 72 * 1024 * 1024;

/// Reason for which the server stopped reading a body; the source of the error that its reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyRefused {
    /// The client sent nothing for too long, or the whole body took too long.
    #[error(
        "the body did not arrive in time: expected a pause of at most {:?}, and {:?} in all",
        BODY_PAUSE,
        BODY_DEADLINE
    )]
    TooSlow,
    /// The bodies of other requests use the whole budget.
    #[error("the bodies of other requests hold all of their memory; try again")]
    Busy,
}

/// A body with a deadline that takes its bytes from a budget.
pub(super) struct RequestBody<B> {
    inner: B,
    held: Arc<Mutex<ByteHold>>,
    received: usize,
    pause: Duration,
    deadline: Instant,
    wake: Pin<Box<Sleep>>,
}

/// The budget of a server.
pub(super) fn budget() -> ByteBudget {
    ByteBudget::new(BODIES, BODIES_PER_ADDRESS)
}

// === impl BodyTime ===

impl Default for BodyTime {
    fn default() -> Self {
        Self { pause: BODY_PAUSE, total: BODY_DEADLINE }
    }
}

// === impl BodyRefused ===

impl BodyRefused {
    /// Finds the reason in the chain of an error.
    pub fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(refused) = error.downcast_ref::<Self>() {
                return Some(*refused);
            }
            next = error.source();
        }
        None
    }
}

// === impl RequestBody ===

impl<B> RequestBody<B> {
    /// Limits a body; the bytes are held until the last clone of `held` is dropped.
    pub(super) fn new(inner: B, held: Arc<Mutex<ByteHold>>, time: BodyTime) -> Self {
        let BodyTime { pause, total } = time;
        let now = Instant::now();
        let wake = Box::pin(sleep_until(now + pause));
        Self { inner, held, received: 0, pause, deadline: now + total, wake }
    }

    fn receive(&mut self, bytes: usize) -> Result<(), BodyRefused> {
        self.received = self.received.saturating_add(bytes);
        self.held.lock().resize(self.received.min(LARGEST_HELD)).map_err(|_| BodyRefused::Busy)?;
        self.wake.as_mut().reset(self.deadline.min(Instant::now() + self.pause));
        Ok(())
    }
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                return self.wake.as_mut().poll(cx).map(|()| Some(Err(BodyRefused::TooSlow.into())));
            }
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if let Err(refused) = self.receive(bytes) {
            return Poll::Ready(Some(Err(refused.into())));
        }
        if self.deadline <= Instant::now() {
            return Poll::Ready(Some(Err(BodyRefused::TooSlow.into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::stream;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    fn body(
        frames: impl futures::Stream<Item = Bytes> + Send + 'static,
        budget: &ByteBudget,
    ) -> RequestBody<impl Body<Data = Bytes, Error = std::convert::Infallible> + Unpin> {
        use futures::StreamExt;
        let frames = frames.map(|bytes| Ok::<_, std::convert::Infallible>(Frame::data(bytes)));
        let held = Arc::new(Mutex::new(budget.hold(Ipv4Addr::LOCALHOST.into())));
        let time = BodyTime { pause: Duration::from_millis(60), total: Duration::from_millis(120) };
        RequestBody::new(StreamBody::new(Box::pin(frames)), held, time)
    }

    #[tokio::test]
    async fn a_body_that_pauses_is_refused() {
        use futures::StreamExt;
        let frames = stream::iter([Bytes::from("a")]).chain(stream::pending());
        let error = body(frames, &budget()).collect().await.err().unwrap();
        assert_eq!(BodyRefused::find(&*error), Some(BodyRefused::TooSlow));
    }

    #[tokio::test]
    async fn a_body_without_end_is_refused() {
        let frames = stream::unfold((), async |()| {
            tokio::task::yield_now().await;
            Some((Bytes::from("a"), ()))
        });
        let error = body(frames, &budget()).collect().await.err().unwrap();
        assert_eq!(BodyRefused::find(&*error), Some(BodyRefused::TooSlow));
    }

    #[tokio::test]
    async fn bodies_share_a_budget() {
        let budget = ByteBudget::new(10, 10);
        let mut other = budget.hold(Ipv4Addr::LOCALHOST.into());
        other.resize(8).unwrap();
        let frames = || stream::iter([Bytes::from("ab"), Bytes::from("c")]);
        let error = body(frames(), &budget).collect().await.err().unwrap();
        assert_eq!(BodyRefused::find(&*error), Some(BodyRefused::Busy));
        drop(other);
        assert_eq!(body(frames(), &budget).collect().await.unwrap().to_bytes(), "abc");
        assert_eq!(budget.used(), 0);
    }
}
