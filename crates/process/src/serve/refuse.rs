//! Responses to a peer that cannot be served, in its own protocol and in the log.

use std::io;

use bytes::{BufMut, BytesMut};
use rustls::{AlertDescription, Error as TlsFailure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Endpoint, Expects};

/// `INADEQUATE_SECURITY` of RFC 9113: the closest there is to "use TLS".
const HTTP2_INADEQUATE_SECURITY: u32 = 0xc;

/// A fatal `handshake_failure` of TLS 1.2; an alert cannot carry text, so the sentence is for the log only.
const TLS_ALERT: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28];

/// Bytes that a refused peer may still send before the connection is closed.
const LAST_WORDS: u64 = 64 * 1024;

/// Mistake of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mistake {
    /// TLS to a plaintext port.
    Tls,
    /// Plaintext HTTP/1 to a TLS port.
    PlainHttp1,
    /// Plaintext HTTP/2 to a TLS port.
    PlainHttp2,
    /// HTTP/1 to a port for HTTP/2.
    Http1,
}

// === impl Mistake ===

impl Mistake {
    /// Returns the problem and the setting that fixes it.
    pub(super) fn sentence(self, endpoint: &Endpoint) -> String {
        let Endpoint { name, setting, tls_setting, expects, .. } = endpoint;
        // Agents are the peers of gRPC ports; their settings can be named too.
        let fix = |scheme: &str, secure: bool| match expects {
            Expects::Http2Only => {
                let hub = tls_setting.map(|setting| format!(" or {setting}: {} in the hub", !secure));
                format!("set clouddriver.insecure: {} in the agent{}", !secure, hub.unwrap_or_default())
            }
            Expects::AnyHttp => match tls_setting {
                Some(tls_setting) => format!("use {scheme}:// or set {tls_setting}: {}", !secure),
                None => format!("use {scheme}://"),
            },
        };
        match self {
            Self::Tls => format!(
                "the {name} port ({setting}) serves plaintext but the peer speaks TLS; {}",
                fix("http", false)
            ),
            Self::PlainHttp1 | Self::PlainHttp2 => format!(
                "the {name} port ({setting}) requires TLS but the peer speaks plaintext; {}",
                fix("https", true)
            ),
            Self::Http1 => format!(
                "the {name} port ({setting}) speaks HTTP/2 only but the peer speaks HTTP/1; \
                 let proxies in between pass HTTP/2 through, and send other requests to the REST port"
            ),
        }
    }

    /// Answers in the language of the peer and closes; the peer gets to read the answer.
    pub(super) async fn answer<IO>(self, mut stream: IO, sentence: &str) -> io::Result<()>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let reply = match self {
            Self::Tls => BytesMut::from(&TLS_ALERT[..]),
            Self::PlainHttp2 => go_away(sentence),
            Self::PlainHttp1 | Self::Http1 => bad_request(sentence),
        };
        stream.write_all(&reply).await?;
        stream.shutdown().await?;
        // Closing with unread input resets the connection, and the reset would overtake the answer.
        tokio::io::copy(&mut stream.take(LAST_WORDS), &mut tokio::io::sink()).await?;
        Ok(())
    }
}

/// An empty SETTINGS frame, which must come first, and a GOAWAY frame with the sentence as debug data.
fn go_away(sentence: &str) -> BytesMut {
    let text = sentence.as_bytes();
    let mut frames = BytesMut::with_capacity(9 + 9 + 8 + text.len());
    frame_head(&mut frames, 0, 0x4);
    frame_head(&mut frames, 8 + text.len(), 0x7);
    frames.put_u32(0); // last stream served: none
    frames.put_u32(HTTP2_INADEQUATE_SECURITY);
    frames.put_slice(text);
    frames
}

fn frame_head(frames: &mut BytesMut, length: usize, kind: u8) {
    frames.put_uint(length as u64, 3);
    frames.put_u8(kind);
    frames.put_u8(0); // flags
    frames.put_u32(0); // stream
}

fn bad_request(sentence: &str) -> BytesMut {
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    let length = sentence.len() + 1;
    BytesMut::from(format!("{head}Content-Length: {length}\r\n\r\n{sentence}\n").as_bytes())
}

/// Returns the reason of a failed handshake, if the peer's or our settings caused it and not the network.
pub(super) fn handshake_sentence(error: &io::Error, endpoint: &Endpoint) -> Option<String> {
    let failure = error.get_ref()?.downcast_ref::<TlsFailure>()?;
    let Endpoint { name, setting, expects, .. } = endpoint;
    let agents = *expects == Expects::Http2Only;
    let reason = match failure {
        TlsFailure::NoCertificatesPresented if agents => {
            "the peer showed no certificate; set clouddriver.tls.clientCertFile and clientKeyFile in the agent".into()
        }
        TlsFailure::InvalidCertificate(problem) => {
            format!("the certificate of the peer is not trusted ({problem}); check who has signed it")
        }
        TlsFailure::AlertReceived(AlertDescription::UnknownCA | AlertDescription::CertificateUnknown) if agents => {
            "the peer does not trust the certificate of the hub; set clouddriver.tls.cacertFile in the agent".into()
        }
        other => other.to_string(),
    };
    Some(format!("TLS handshake on the {name} port ({setting}) failed: {reason}"))
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn failed_handshakes_name_the_setting_of_the_agent() {
        let endpoint = Endpoint {
            name: "gRPC",
            setting: "grpc.port",
            expects: Expects::Http2Only,
            tls: None,
            tls_setting: Some("grpc.tls"),
        };
        let cases = [
            (TlsFailure::NoCertificatesPresented, "set clouddriver.tls.clientCertFile and clientKeyFile"),
            (TlsFailure::AlertReceived(AlertDescription::UnknownCA), "set clouddriver.tls.cacertFile"),
            (
                TlsFailure::InvalidCertificate(CertificateError::UnknownIssuer),
                "is not trusted (UnknownIssuer)",
            ),
        ];
        for (failure, part) in cases {
            let sentence = handshake_sentence(&io::Error::other(failure), &endpoint).unwrap();
            assert!(
                sentence.starts_with("TLS handshake on the gRPC port (grpc.port) failed: "),
                "{sentence}"
            );
            assert!(sentence.contains(part), "{sentence}");
        }
        assert_eq!(handshake_sentence(&io::ErrorKind::UnexpectedEof.into(), &endpoint), None);
    }
}
