//! Protocol of a peer, detected by its first bytes.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::rewind::Rewind;

/// Preface of every HTTP/2 connection.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// No method of HTTP is longer; the longest registered one has 17 letters.
const LONGEST_METHOD: usize = 20;

/// Protocol of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Tls,
    Http1,
    Http2,
    /// An unknown protocol.
    Other,
    /// The peer closed the connection before that, as health checks of load balancers do.
    Silence,
}

/// Reads until the protocol of the peer is clear; the bytes are not lost.
pub(super) async fn sniff<IO: AsyncRead + Unpin>(mut stream: IO) -> io::Result<(Speech, Rewind<IO>)> {
    let mut ahead = BytesMut::with_capacity(64);
    let speech = loop {
        if let Some(speech) = classify(&ahead) {
            break speech;
        }
        if stream.read_buf(&mut ahead).await? == 0 {
            break Speech::Silence;
        }
    };
    Ok((speech, Rewind::new(ahead.freeze(), stream)))
}

/// Returns the protocol, or none if more bytes are needed.
fn classify(bytes: &[u8]) -> Option<Speech> {
    match bytes {
        [] | [0x16] => return None,
        // A handshake record of TLS 1.0 to 1.3, in which every ClientHello travels.
        [0x16, 0x03, ..] => return Some(Speech::Tls),
        _ => {}
    }
    if bytes.starts_with(HTTP2_PREFACE) {
        return Some(Speech::Http2);
    }
    if HTTP2_PREFACE.starts_with(bytes) {
        return None;
    }
    let method = bytes.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'-').count();
    match bytes.get(method) {
        Some(b' ') if method > 0 => Some(Speech::Http1),
        None if method <= LONGEST_METHOD => None,
        _ => Some(Speech::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_speech() {
        let cases: [(&[u8], Option<Speech>); 13] = [
            (b"", None),
            (b"\x16", None),
            (b"\x16\x03\x01\x02", Some(Speech::Tls)),
            (b"\x16\x99", Some(Speech::Other)),
            (b"P", None),
            (b"PRI * HTTP/2", None),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some(Speech::Http2)),
            (b"POS", None),
            (b"POST /", Some(Speech::Http1)),
            (b"GET / HTTP/1.1\r\n", Some(Speech::Http1)),
            (b"SSH-2.0-OpenSSH", Some(Speech::Other)),
            (b" GET /", Some(Speech::Other)),
            (b"AAAAAAAAAAAAAAAAAAAAAAAAAAAA", Some(Speech::Other)),
        ];
        for (bytes, speech) in cases {
            assert_eq!(classify(bytes), speech, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[tokio::test]
    async fn sniffed_bytes_are_read_again() {
        let (speech, mut stream) = sniff(&b"GET / HTTP/1.1\r\n\r\n"[..]).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!((speech, text.as_str()), (Speech::Http1, "GET / HTTP/1.1\r\n\r\n"));
    }
}
