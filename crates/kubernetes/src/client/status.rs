//! Errors that an API server returns.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

/// Error with which an API server refused a request or ended a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
#[error("{code} {reason}: {message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// Machine-readable reason, such as `Expired`; empty if the response did not come from Kubernetes.
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// Machine-readable causes, such as `ResourceVersionTooLarge`.
    pub causes: Vec<String>,
    /// Delay before a retry that the API server requests.
    pub retry_after: Option<Duration>,
    /// Response body as it came, to be passed on; empty for the error event of a watch.
    pub document: Bytes,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    code: u16,
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Details {
    retry_after_seconds: u64,
    causes: Vec<Cause>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cause {
    reason: String,
}

/// Number of characters of a proxy's error page, enough to recognise it.
const LONGEST_FOREIGN_MESSAGE: usize = 256;

// === impl Status ===

impl Status {
    /// Reads the error response of Kubernetes or of a proxy before it.
    pub(crate) fn of_response(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let document = serde_json::from_slice(body).unwrap_or_else(|_| Document {
            message: String::from_utf8_lossy(body).chars().take(LONGEST_FOREIGN_MESSAGE).collect(),
            ..Document::default()
        });
        let header =
            headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let status = Self::from(document);
        Self {
            code: code.as_u16(),
            retry_after: status.retry_after.or(header.map(Duration::from_secs)),
            document: Bytes::copy_from_slice(body),
            ..status
        }
    }

    /// Whether the requested resource version is too old: only a new list helps.
    pub fn is_gone(&self) -> bool {
        self.code == 410
    }

    /// Whether the API server did not accept the credentials.
    pub fn is_unauthorized(&self) -> bool {
        self.code == 401
    }

    /// Whether the credentials do not allow the request. A 403 of a proxy does not count.
    pub fn is_forbidden(&self) -> bool {
        self.code == 403 && self.reason == "Forbidden"
    }

    /// Whether the resource or the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether the requested resource version is in the future: the store was restored from a backup, or a replica lags.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.causes.iter().any(|cause| cause == "ResourceVersionTooLarge")
            || self.message.contains("Too large resource version")
    }

    /// Whether the API server cannot send a list through a watch, so that pages must be used.
    pub fn is_unsupported_streaming_list(&self) -> bool {
        // Kubernetes 1.26 and older ignore the first, but refuse the second in a watch.
        matches!(self.code, 400 | 422)
            && ["sendInitialEvents", "resourceVersionMatch"].iter().any(|word| self.message.contains(word))
    }
}

impl From<Document> for Status {
    fn from(document: Document) -> Self {
        let Document { code, reason, message, details } = document;
        let Details { retry_after_seconds, causes } = details.unwrap_or_default();
        let causes = causes.into_iter().map(|Cause { reason }| reason).collect();
        let retry_after = (retry_after_seconds > 0).then(|| Duration::from_secs(retry_after_seconds));
        Self { code, reason, message, causes, retry_after, document: Bytes::new() }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Document::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, headers: &[(&'static str, &'static str)], body: &str) -> Status {
        let headers =
            headers.iter().map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap())).collect();
        Status::of_response(StatusCode::from_u16(code).unwrap(), &headers, body.as_bytes())
    }

    #[test]
    fn a_version_of_the_future_is_recognised() {
        let status = answer(
            504,
            &[],
            r#"{"kind":"Status","status":"Failure","message":"Timeout: Too large resource version: 9, current: 5",
                "reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large
                resource version"}],"retryAfterSeconds":1},"code":504}"#
                .replace('\n', " ")
                .as_str(),
        );
        assert!(status.is_too_large_resource_version() && !status.is_gone());
        assert_eq!(status.retry_after, Some(Duration::from_secs(1)));
    }

    #[test]
    fn errors_of_proxies_are_read_too() {
        let status = answer(503, &[("retry-after", "7")], "<html>Bad day</html>");
        assert_eq!(status.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(status.to_string(), "503 : <html>Bad day</html>");
        assert_eq!(answer(429, &[("retry-after", "soon")], "").retry_after, None);
        assert!(!answer(403, &[], "<html>Access denied by the gateway</html>").is_forbidden());
        assert!(answer(403, &[], r#"{"kind":"Status","reason":"Forbidden","code":403}"#).is_forbidden());
        assert_eq!(answer(500, &[], &"é".repeat(999)).message.chars().count(), 256);
    }

    #[test]
    fn a_refused_streaming_list_differs_from_other_bad_requests() {
        let refusal = r#"{"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","code":422}"#;
        assert!(answer(422, &[], refusal).is_unsupported_streaming_list());
        assert!(
            answer(400, &[], r#"{"message":"resourceVersionMatch is forbidden for watch"}"#)
                .is_unsupported_streaming_list()
        );
        assert!(
            !answer(400, &[], r#"{"message":"invalid resource version"}"#).is_unsupported_streaming_list()
        );
        assert!(!answer(410, &[], r#"{"message":"sendInitialEvents"}"#).is_unsupported_streaming_list());
    }
}
