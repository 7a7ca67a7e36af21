//! Limits of a response body: its size, its end, and the time between two parts.

use std::time::Duration;

use axum::{BoxError, body::Body};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

/// Limits of a download.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DownloadLimits {
    pub(crate) bytes: u64,
    /// Time for all of it, with redirects.
    pub(crate) total: Duration,
    /// Time between two parts of the body.
    pub(crate) pause: Duration,
}

/// Reason why a body ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    #[error("deadline exceeded")]
    Deadline,
    #[error("no data for {0:?}")]
    Paused(Duration),
    #[error("the connection broke")]
    Broken(#[source] axum::Error),
}

/// Body that fails beyond the limits.
pub(super) fn limited(body: Body, limits: DownloadLimits, deadline: Instant) -> Body {
    let parts = (body.into_data_stream(), limits.bytes);
    let parts = stream::try_unfold(parts, move |(mut parts, left)| async move {
        let now = Instant::now();
        // A part that is there already would be taken after the deadline, too.
        if now >= deadline {
            return Err(BodyError::Deadline);
        }
        let pause = now + limits.pause;
        let part = match timeout_at(deadline.min(pause), parts.next()).await {
            Err(_) if pause < deadline => return Err(BodyError::Paused(limits.pause)),
            Err(_) => return Err(BodyError::Deadline),
            Ok(None) => return Ok(None),
            Ok(Some(part)) => part.map_err(BodyError::Broken)?,
        };
        let left = left.checked_sub(part.len() as u64).ok_or(BodyError::TooLarge(limits.bytes))?;
        Ok(Some((part, (parts, left))))
    });
    Body::from_stream(parts.map(|part| part.map_err(BoxError::from)))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::stream;

    use super::*;

    /// Reads a body of at most 4 bytes; a limit that is not given is never reached.
    async fn error_of(body: Body, total: Option<Duration>, pause: Option<Duration>) -> String {
        const NEVER: Duration = Duration::from_hours(1);
        let limits =
            DownloadLimits { bytes: 4, total: total.unwrap_or(NEVER), pause: pause.unwrap_or(NEVER) };
        let deadline = Instant::now() + limits.total;
        let read = axum::body::to_bytes(limited(body, limits, deadline), usize::MAX).await;
        read.map_or_else(|error| spindrift_process::report(&error), |bytes| format!("{} bytes", bytes.len()))
    }

    /// Body of parts that are all there.
    fn endless(part: &'static [u8]) -> Body {
        Body::from_stream(stream::repeat_with(move || Ok::<_, BoxError>(Bytes::from_static(part))))
    }

    fn silent() -> Body {
        Body::from_stream(stream::pending::<Result<Bytes, BoxError>>())
    }

    #[tokio::test]
    async fn a_body_is_limited_in_size_and_time() {
        let short = Some(Duration::from_millis(10));
        assert_eq!(error_of(Body::from("abcd"), None, None).await, "4 bytes");
        assert!(error_of(Body::from("abcde"), None, None).await.contains("more than 4 bytes"));
        assert!(error_of(endless(b"a"), None, None).await.contains("more than 4 bytes"));
        assert!(error_of(silent(), short, None).await.contains("deadline exceeded"));
        assert!(error_of(endless(b""), short, None).await.contains("deadline exceeded"));
        assert!(error_of(silent(), None, short).await.contains("no data for 10ms"));
    }
}
