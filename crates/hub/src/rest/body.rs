//! Bodies of requests: read as a whole, up to a limit.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use spindrift_process::serve::BodyRefused;

/// Bytes beyond the limit that are read and dropped, so that the client receives the error: a connection that is closed
/// while the client sends shows it no response.
const MOST_DROPPED: usize = 256 * 1024 * 1024;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    #[error("expected at most {0} bytes")]
    TooLarge(usize),
    #[error("it broke off")]
    BrokenOff,
    #[error(transparent)]
    Refused(#[from] BodyRefused),
}

/// All of a body, if it is not larger than this.
pub(crate) async fn read(body: Body, most: usize) -> Result<Bytes, Unread> {
    let (mut whole, mut length) = (BytesMut::new(), 0);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|error| BodyRefused::find(&error).map_or(Unread::BrokenOff, Unread::Refused))?;
        length += piece.len();
        if length <= most {
            whole.extend_from_slice(&piece);
        } else if length > MOST_DROPPED {
            break;
        } else {
            whole = BytesMut::new();
        }
    }
    if length > most { Err(Unread::TooLarge(most)) } else { Ok(whole.freeze()) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures::stream;

    use super::*;

    fn body(pieces: Vec<io::Result<&'static str>>) -> Body {
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_read_whole_or_not_at_all() {
        assert_eq!(read(Body::empty(), 4).await, Ok(Bytes::new()));
        assert_eq!(read(body(vec![Ok("ab"), Ok("cd")]), 4).await, Ok(Bytes::from("abcd")));
        assert_eq!(read(body(vec![Ok("ab"), Ok("cde"), Ok("f")]), 4).await, Err(Unread::TooLarge(4)));
        let broken = body(vec![Ok("ab"), Err(io::Error::other("gone"))]);
        assert_eq!(read(broken, 4).await, Err(Unread::BrokenOff));
    }
}
