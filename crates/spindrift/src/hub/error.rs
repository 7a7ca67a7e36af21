//! Errors of requests to the hub.

use std::error::Error;

use reqwest::{StatusCode, Url};
use serde::Deserialize;

/// Failed request to the hub; the text includes a remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    #[error("cannot connect to the hub at {url} ({cause}); start one with `spindrift up`, or set --hub URL")]
    Unreachable { url: String, cause: String },
    #[error("TLS handshake with {url} failed ({cause}); {advice}")]
    Tls { url: String, cause: String, advice: &'static str },
    #[error("deadline exceeded: no response from the hub at {url}; retry, or check its log")]
    DeadlineExceeded { url: String },
    #[error("the response of the hub at {url} was interrupted ({cause}); retry")]
    Interrupted { url: String, cause: String },
    /// The connection was closed after the request was sent and before a valid response.
    #[error("connection to the hub at {url} lost ({cause})")]
    ConnectionLost { url: String, cause: String },
    #[error("{url} is not a hub's REST port (7002 unless configured): it answers {found}; check --hub")]
    NotAHub { url: String, found: String },
    /// The hub rejected the request (4xx).
    #[error("{message}")]
    Rejected { status: u16, message: String },
    #[error("the hub at {url} failed ({status}): {message}")]
    Failed { url: String, status: u16, message: String },
}

/// Body of an error response of the hub.
#[derive(Deserialize)]
struct ErrorBody {
    status: u16,
    message: String,
}

/// Characters of an unexpected response that are quoted.
const QUOTED: usize = 120;

// === impl HubError ===

impl HubError {
    /// Error of a request without a response.
    pub(super) fn request(url: &Url, error: &reqwest::Error) -> Self {
        let url = shown(url);
        let root = root(error);
        let cause = root.to_string();
        if let Some(advice) = tls_advice(error) {
            return Self::Tls { url, cause, advice };
        }
        if error.is_connect() || error.is_builder() {
            Self::Unreachable { url, cause }
        } else if error.is_timeout() {
            Self::DeadlineExceeded { url }
        } else if error.is_body() || error.is_decode() {
            Self::Interrupted { url, cause }
        } else {
            // Closed before the first byte of a response.
            Self::ConnectionLost { url, cause }
        }
    }

    /// Error of a response whose status is not a success.
    pub(super) fn answer(url: &Url, status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(ErrorBody { status: said, message }) if said == status.as_u16() => {
                if status.is_client_error() {
                    Self::Rejected { status: said, message }
                } else {
                    Self::Failed { url: shown(url), status: said, message }
                }
            }
            _ => {
                let text = quoted(body);
                let found = if text.is_empty() { status.to_string() } else { format!("{status}: {text:?}") };
                Self::NotAHub { url: shown(url), found }
            }
        }
    }

    /// Error of a response whose body is not the expected JSON.
    pub(super) fn not_a_hub(url: &Url, body: &[u8]) -> Self {
        Self::NotAHub { url: shown(url), found: format!("{:?}", quoted(body)) }
    }

    /// Error of a stream that the hub has closed, as it does when it stops.
    pub(super) fn ended(url: &Url) -> Self {
        Self::Interrupted { url: shown(url), cause: "closed by the hub".into() }
    }

    /// Whether the hub may have received the request.
    pub(crate) fn may_have_been_received(&self) -> bool {
        matches!(self, Self::ConnectionLost { .. } | Self::DeadlineExceeded { .. } | Self::Interrupted { .. })
    }

    /// Whether a retry can succeed, once the hub has been reached before: it may restart, or be behind a proxy.
    pub(crate) fn is_retryable(&self) -> bool {
        !matches!(self, Self::Rejected { .. })
    }
}

/// Text of a URL without its user name and password.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if url.set_username("").and_then(|()| url.set_password(None)).is_err() {
        return "the hub".into();
    }
    url.as_str().trim_end_matches('/').to_owned()
}

fn root(error: &reqwest::Error) -> &(dyn Error + 'static) {
    let mut cause: &(dyn Error + 'static) = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

fn tls_advice(error: &reqwest::Error) -> Option<&'static str> {
    Some(match tls_failure(error)? {
        rustls::Error::InvalidCertificate(_) => {
            "its certificate is not trusted; set SSL_CERT_FILE to the file of its certificate authority"
        }
        _ => "the server may not use TLS: try http://",
    })
}

/// TLS error in the chain of sources; I/O errors wrap it, sometimes twice.
fn tls_failure<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(failure) = error.downcast_ref() {
        return Some(failure);
    }
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let inner = inner.map(|inner| inner as &(dyn Error + 'static));
    tls_failure(inner.or_else(|| error.source())?)
}

fn quoted(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..4 * QUOTED).unwrap_or(body)).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> HubError {
        let url = "http://user:secret@hub:7002/".parse().unwrap();
        HubError::answer(&url, StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn error_messages_of_the_hub_are_unchanged() {
        let body = r#"{"timestamp":"…","status":400,"error":"Bad Request","message":"kind: no"}"#;
        assert_eq!(answer(400, body).to_string(), "kind: no");
        assert!(!answer(400, body).is_retryable());
        let body = r#"{"status":503,"message":"the store did not answer; try again"}"#;
        let said = answer(503, body).to_string();
        assert_eq!(said, "the hub at http://hub:7002 failed (503): the store did not answer; try again");
    }

    #[test]
    fn the_response_of_another_server_is_quoted() {
        let said = answer(200, &format!("<html>\n  {}", "é".repeat(500))).to_string();
        assert!(said.contains("is not a hub's REST port") && said.contains("<html> éé"), "{said}");
        assert!(said.contains("é…") && said.lines().count() == 1, "{said}");
        assert!(answer(502, "").to_string().contains("it answers 502 Bad Gateway"));
    }
}
