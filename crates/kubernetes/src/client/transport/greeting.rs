//! The first words of a server, overheard on their way to hyper.
//!
//! A server of HTTP/2 begins with its settings, whoever speaks first. They tell two things that hyper does not: that it
//! really is HTTP/2, which over plaintext cannot be known otherwise, and how many streams may be open at once.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::oneshot,
};

/// What a server began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// The settings of HTTP/2.
    Http2 {
        /// How many streams may be open at once; the server may leave that open.
        most_streams: Option<u32>,
    },
    /// An answer of HTTP/1.
    Http1,
    /// Neither.
    Nonsense,
}

/// A stream whose first words are told to somebody else as well.
pub(super) struct Overheard<IO> {
    io: IO,
    words: Vec<u8>,
    greeting_tx: Option<oneshot::Sender<io::Result<Greeting>>>,
}

/// A frame begins with its length (3 bytes), type, flags (1 byte each) and stream (4 bytes).
const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 4;
/// A setting is its number (2 bytes) and its value (4 bytes).
const SETTING: usize = 6;
const MAX_CONCURRENT_STREAMS: u16 = 3;
/// Some dozens of settings, of which HTTP/2 knows less than ten.
const LONGEST_SETTINGS: usize = 1024;

// === impl Greeting ===

impl Greeting {
    /// None as long as it can become either.
    fn of(words: &[u8]) -> Option<Self> {
        let http1 = b"HTTP/1.";
        if words.starts_with(http1) {
            return Some(Self::Http1);
        }
        let head = words.first_chunk::<FRAME_HEAD>()?;
        let [a, b, c, kind, ..] = *head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if kind != SETTINGS || length > LONGEST_SETTINGS || !length.is_multiple_of(SETTING) {
            return Some(Self::Nonsense);
        }
        let settings = words.get(FRAME_HEAD..FRAME_HEAD + length)?;
        let most_streams = settings.chunks_exact(SETTING).find_map(|setting| {
            let (number, value) = setting.split_first_chunk::<2>()?;
            let value = u32::from_be_bytes(value.try_into().ok()?);
            (u16::from_be_bytes(*number) == MAX_CONCURRENT_STREAMS).then_some(value)
        });
        Some(Self::Http2 { most_streams })
    }
}

// === impl Overheard ===

impl<IO> Overheard<IO> {
    /// In place of a greeting may come the reason why there is none, such as a certificate that is refused.
    pub(super) fn new(io: IO) -> (Self, oneshot::Receiver<io::Result<Greeting>>) {
        let (greeting_tx, greeting_rx) = oneshot::channel();
        (Self { io, words: Vec::new(), greeting_tx: Some(greeting_tx) }, greeting_rx)
    }

    fn hear(&mut self, read: Result<&[u8], &io::Error>) {
        if self.greeting_tx.is_none() {
            return;
        }
        let heard = match read {
            Ok([]) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(words) => {
                self.words.extend_from_slice(words);
                let Some(greeting) = Greeting::of(&self.words) else { return };
                Ok(greeting)
            }
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        self.words = Vec::new();
        // Who has stopped waiting does not want to know.
        self.greeting_tx.take().map(|greeting_tx| greeting_tx.send(heard));
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Overheard<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.io).poll_read(context, buffer));
        self.hear(read.as_ref().map(|()| buffer.filled().get(before..).unwrap_or_default()));
        Poll::Ready(read)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Overheard<IO> {
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
    fn servers_are_known_by_their_first_words() {
        let settings = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 3, 0, 0, 0, 250];
        for length in 0..settings.len() {
            assert_eq!(Greeting::of(&settings[..length]), None, "{length} bytes are too few");
        }
        assert_eq!(Greeting::of(&settings), Some(Greeting::Http2 { most_streams: Some(250) }));
        let silent = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        assert_eq!(Greeting::of(&silent), Some(Greeting::Http2 { most_streams: None }));
        assert_eq!(Greeting::of(b"HTTP/1.1 400 Bad Request\r\n"), Some(Greeting::Http1));
        assert_eq!(Greeting::of(b"SSH-2.0-OpenSSH"), Some(Greeting::Nonsense));
    }
}
