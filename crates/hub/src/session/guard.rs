//! Messages of agents before they are whole: small enough, in time, and within a budget for all of them.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{Extensions, Request, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use spindrift_process::serve::{ByteBudget, ByteHold, PeerInfo};
use spindrift_protocol::{CHUNK_BYTES, v1::hub_server::HubServer};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Status, body::Body, server::NamedService};
use tower::Service;

use super::HubService;

/// Largest registration: 2,000 accounts of 4 KB each.
const REGISTER_BYTES: usize = 8 * 1024 * 1024;

/// Largest announcement: an agent may announce all its accounts at once, after it has registered without any.
const CONTROL_BYTES: usize = REGISTER_BYTES;

/// Largest piece of a result: 64 KiB, and with the last one the API server's `Status`.
const RESULTS_BYTES: usize = 4 * 1024 * 1024;

/// Fields of a message besides its chunk.
const FRAMING: usize = 4 * 1024;

/// Time from the first to the last byte of a message.
const MESSAGE_DEADLINE: Duration = Duration::from_secs(30);

/// Bytes of all messages that are not whole: 384 chunks, or twelve of the largest registrations.
const UNFINISHED: usize = 96 * 1024 * 1024;

/// Bytes of the unfinished messages of one address, which may be a load balancer in front of a fleet. The largest message
/// that is put together of chunks has 32 MiB.
const UNFINISHED_PER_ADDRESS: usize = UNFINISHED / 2;

/// gRPC's prefix of a message: a flag, and the length.
const PREFIX: usize = 5;

/// The gRPC service with limits on unfinished messages.
#[derive(Debug, Clone)]
pub struct GuardedServer {
    inner: HubServer<HubService>,
    unfinished: ByteBudget,
}

/// Limits of the messages of one call.
#[derive(Debug, Clone, Copy)]
struct MessageLimits {
    bytes: usize,
    /// Set if the first message has to come at once, and the call holds it until it is answered.
    unary: bool,
    /// Time from the first to the last byte of a message.
    time: Duration,
}

/// A request's body whose messages are limited.
struct GuardedBody {
    inner: Body,
    limits: MessageLimits,
    hold: Arc<Mutex<ByteHold>>,
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that have arrived.
    prefixed: usize,
    /// Bytes of the current message that are missing.
    missing: usize,
    /// End of the time for the current message.
    deadline: Option<Pin<Box<Sleep>>>,
}

// === impl GuardedServer ===

impl GuardedServer {
    /// Limits the messages of a service, within the budget.
    pub(super) fn new(service: HubService, unfinished: ByteBudget) -> Self {
        Self { inner: HubServer::new(service).max_decoding_message_size(REGISTER_BYTES), unfinished }
    }
}

impl NamedService for GuardedServer {
    const NAME: &'static str = HubServer::<HubService>::NAME;
}

impl Service<Request<Body>> for GuardedServer {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let limits = MessageLimits::of(request.uri().path());
        let hold = Arc::new(Mutex::new(self.unfinished.hold(address_of(request.extensions()))));
        let request = request.map(|inner| Body::new(GuardedBody::new(inner, limits, Arc::clone(&hold))));
        let call = self.inner.call(request);
        async move {
            let response = call.await;
            // A registration is held until it is answered; a channel holds only what is unfinished.
            drop(hold);
            response
        }
        .boxed()
    }
}

/// Returns the budget of all unfinished messages of a hub.
pub fn unfinished_messages() -> ByteBudget {
    ByteBudget::new(UNFINISHED, UNFINISHED_PER_ADDRESS)
}

/// Returns the address of the peer of a call.
pub(super) fn address_of(extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<PeerInfo>();
    peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.remote.ip())
}

// === impl MessageLimits ===

impl MessageLimits {
    fn of(path: &str) -> Self {
        let (bytes, unary) = match path.rsplit('/').next() {
            Some("Register") => (REGISTER_BYTES, true),
            Some("Control") => (CONTROL_BYTES, false),
            Some("Results") => (RESULTS_BYTES, false),
            _ => (CHUNK_BYTES + FRAMING, false),
        };
        Self { bytes, unary, time: MESSAGE_DEADLINE }
    }
}

// === impl GuardedBody ===

impl GuardedBody {
    fn new(inner: Body, limits: MessageLimits, hold: Arc<Mutex<ByteHold>>) -> Self {
        let mut body =
            Self { inner, limits, hold, prefix: [0; PREFIX], prefixed: 0, missing: 0, deadline: None };
        if limits.unary {
            body.begin();
        }
        body
    }

    fn begin(&mut self) {
        let ends = Instant::now() + self.limits.time;
        self.deadline.get_or_insert_with(|| Box::pin(sleep_until(ends)));
    }

    /// Follows the messages in a piece of the body.
    fn receive(&mut self, mut piece: &[u8]) -> Result<(), Status> {
        while !piece.is_empty() {
            if self.missing > 0 {
                let (_, rest) = piece.split_at(piece.len().min(self.missing));
                self.missing -= piece.len() - rest.len();
                piece = rest;
                if self.missing == 0 {
                    self.end()?;
                }
                continue;
            }
            let (Some(slot), Some((byte, rest))) = (self.prefix.get_mut(self.prefixed), piece.split_first())
            else {
                return Err(Status::internal("a prefix has five bytes"));
            };
            *slot = *byte;
            self.prefixed += 1;
            piece = rest;
            if self.prefixed == 1 {
                self.begin();
            }
            if self.prefixed == PREFIX {
                self.prefixed = 0;
                let [_, length @ ..] = self.prefix;
                self.announced(u32::from_be_bytes(length) as usize)?;
            }
        }
        Ok(())
    }

    /// The length of a message is known.
    fn announced(&mut self, length: usize) -> Result<(), Status> {
        let most = self.limits.bytes;
        if length > most {
            let message = format!("message of {length} bytes: expected at most {most} bytes");
            return Err(Status::resource_exhausted(message));
        }
        self.hold
            .lock()
            .resize(length)
            .map_err(|exceeded| Status::resource_exhausted(exceeded.to_string()))?;
        self.missing = length;
        if length == 0 { self.end() } else { Ok(()) }
    }

    /// The message is whole.
    fn end(&mut self) -> Result<(), Status> {
        self.deadline = None;
        if self.limits.unary {
            return Ok(());
        }
        self.hold.lock().resize(0).map_err(|exceeded| Status::internal(exceeded.to_string()))
    }
}

impl HttpBody for GuardedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            let message = format!("the message did not arrive within {:?}", self.limits.time);
            return Poll::Ready(Some(Err(Status::deadline_exceeded(message))));
        }
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            other => return other,
        };
        if let Some(piece) = frame.data_ref()
            && let Err(status) = self.receive(piece)
        {
            return Poll::Ready(Some(Err(status)));
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
    use futures::{StreamExt, stream};
    use http_body_util::{BodyExt, StreamBody};
    use tokio_stream::Stream;

    use super::*;

    fn message(length: usize, bytes: usize) -> Bytes {
        let length = u32::try_from(length).unwrap().to_be_bytes();
        [&[0][..], &length, &vec![7; bytes]].concat().into()
    }

    fn body(
        pieces: impl Stream<Item = Bytes> + Send + 'static,
        path: &str,
        budget: &ByteBudget,
    ) -> (GuardedBody, Arc<Mutex<ByteHold>>) {
        let pieces = pieces.map(|piece| Ok::<_, Status>(Frame::data(piece)));
        let hold = Arc::new(Mutex::new(budget.hold(Ipv4Addr::LOCALHOST.into())));
        let inner = Body::new(StreamBody::new(pieces));
        let limits = MessageLimits { time: Duration::from_millis(50), ..MessageLimits::of(path) };
        (GuardedBody::new(inner, limits, Arc::clone(&hold)), hold)
    }

    #[tokio::test]
    async fn whole_messages_pass_however_they_are_cut() {
        let whole = [message(300, 300), message(0, 0), message(70_000, 70_000)].concat();
        for cut in [1, 3, 5, 299, 4096, 100_000] {
            let pieces: Vec<_> = whole.chunks(cut).map(Bytes::copy_from_slice).collect();
            let budget = unfinished_messages();
            let (body, _hold) = body(stream::iter(pieces), "/spindrift.v1.Hub/Events", &budget);
            assert_eq!(body.collect().await.unwrap().to_bytes(), whole);
            assert_eq!(budget.used(), 0);
        }
    }

    #[tokio::test]
    async fn each_call_has_a_largest_message() {
        for (path, most) in
            [("Register", REGISTER_BYTES), ("Control", CONTROL_BYTES), ("Events", CHUNK_BYTES + FRAMING)]
        {
            let path = format!("/spindrift.v1.Hub/{path}");
            let pieces = stream::iter([message(most + 1, 1)]);
            let status = body(pieces, &path, &unfinished_messages()).0.collect().await.err().unwrap();
            let expected = format!("message of {} bytes: expected at most {most} bytes", most + 1);
            assert_eq!(status.message(), expected);
        }
    }

    #[tokio::test]
    async fn an_unfinished_message_has_a_deadline() {
        for (path, pieces) in [
            ("Events", vec![message(2, 2), message(9, 8)]),
            ("Events", vec![message(2, 2), Bytes::from_static(&[0])]),
            ("Register", vec![]),
        ] {
            let pieces = stream::iter(pieces).chain(stream::pending());
            let status = body(pieces, path, &unfinished_messages()).0.collect().await.err().unwrap();
            assert_eq!(status.code(), tonic::Code::DeadlineExceeded, "{path}: {status}");
        }
    }

    #[tokio::test]
    async fn a_channel_may_be_silent_between_messages() {
        let pieces = stream::iter([message(2, 2)]).chain(stream::pending());
        let (mut silent, _hold) = body(pieces, "Events", &unfinished_messages());
        silent.frame().await.unwrap().unwrap();
        assert!(silent.deadline.is_none());
    }

    #[tokio::test]
    async fn unfinished_messages_share_a_budget() {
        let budget = ByteBudget::new(1000, 1000);
        let unfinished = stream::iter([message(700, 1)]).chain(stream::pending());
        let (mut first, hold) = body(unfinished, "Control", &budget);
        first.frame().await.unwrap().unwrap();
        let (second, _hold) = body(stream::iter([message(301, 301)]), "Control", &budget);
        let status = second.collect().await.err().unwrap();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status}");
        drop((first, hold));
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn a_registration_is_held_until_it_is_answered() {
        let budget = unfinished_messages();
        let (registration, hold) = body(stream::iter([message(700, 700)]), "Register", &budget);
        registration.collect().await.unwrap();
        assert_eq!(budget.used(), 700);
        drop(hold);
        assert_eq!(budget.used(), 0);
    }
}
