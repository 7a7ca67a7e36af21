//! First bytes of a server, inspected on their way to hyper.
//!
//! An HTTP/2 server begins with a SETTINGS frame (its connection preface). It contains two things that hyper does not
//! expose: that the server really speaks HTTP/2, which plaintext does not negotiate, and its limit of concurrent streams.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::oneshot,
};

/// Beginning of the bytes of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preface {
    /// A SETTINGS frame of HTTP/2.
    Http2 {
        /// Limit of concurrent streams; none if the server does not set one.
        max_streams: Option<u32>,
    },
    /// A response of HTTP/1.
    Http1,
    /// Neither.
    Unknown,
}

/// I/O stream that reports the preface of the server.
pub(super) struct PrefaceReader<IO> {
    io: IO,
    bytes: Vec<u8>,
    preface_tx: Option<oneshot::Sender<io::Result<Preface>>>,
}

/// A frame begins with its length (3 bytes), type, flags (1 byte each) and stream (4 bytes).
const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 4;
/// A setting is its number (2 bytes) and its value (4 bytes).
const SETTING: usize = 6;
const MAX_CONCURRENT_STREAMS: u16 = 3;
/// Some dozens of settings; HTTP/2 defines less than ten.
const LONGEST_SETTINGS: usize = 1024;

// === impl Preface ===

impl Preface {
    /// Parses the first bytes; none if more are needed.
    fn of(bytes: &[u8]) -> Option<Self> {
        let http1 = b"HTTP/1.";
        if bytes.starts_with(http1) {
            return Some(Self::Http1);
        }
        let head = bytes.first_chunk::<FRAME_HEAD>()?;
        let [a, b, c, kind, ..] = *head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if kind != SETTINGS || length > LONGEST_SETTINGS || !length.is_multiple_of(SETTING) {
            return Some(Self::Unknown);
        }
        let settings = bytes.get(FRAME_HEAD..FRAME_HEAD + length)?;
        let max_streams = settings.chunks_exact(SETTING).find_map(|setting| {
            let (number, value) = setting.split_first_chunk::<2>()?;
            let value = u32::from_be_bytes(value.try_into().ok()?);
            (u16::from_be_bytes(*number) == MAX_CONCURRENT_STREAMS).then_some(value)
        });
        Some(Self::Http2 { max_streams })
    }
}

// === impl PrefaceReader ===

impl<IO> PrefaceReader<IO> {
    /// Wraps a stream. The receiver gets the preface, or the error that came instead, such as a rejected certificate.
    pub(super) fn new(io: IO) -> (Self, oneshot::Receiver<io::Result<Preface>>) {
        let (preface_tx, preface_rx) = oneshot::channel();
        (Self { io, bytes: Vec::new(), preface_tx: Some(preface_tx) }, preface_rx)
    }

    fn inspect(&mut self, read: Result<&[u8], &io::Error>) {
        if self.preface_tx.is_none() {
            return;
        }
        let result = match read {
            Ok([]) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                self.bytes.extend_from_slice(bytes);
                let Some(preface) = Preface::of(&self.bytes) else { return };
                Ok(preface)
            }
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        self.bytes = Vec::new();
        // The receiver may be gone.
        self.preface_tx.take().map(|preface_tx| preface_tx.send(result));
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for PrefaceReader<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.io).poll_read(context, buffer));
        self.inspect(read.as_ref().map(|()| buffer.filled().get(before..).unwrap_or_default()));
        Poll::Ready(read)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for PrefaceReader<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_recognised_by_their_first_bytes() {
        let settings = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 3, 0, 0, 0, 250];
        for length in 0..settings.len() {
            assert_eq!(Preface::of(&settings[..length]), None, "{length} bytes are too few");
        }
        assert_eq!(Preface::of(&settings), Some(Preface::Http2 { max_streams: Some(250) }));
        let silent = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        assert_eq!(Preface::of(&silent), Some(Preface::Http2 { max_streams: None }));
        assert_eq!(Preface::of(b"HTTP/1.1 400 Bad Request\r\n"), Some(Preface::Http1));
        assert_eq!(Preface::of(b"SSH-2.0-OpenSSH"), Some(Preface::Unknown));
    }
}
