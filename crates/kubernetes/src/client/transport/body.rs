//! Response body, which holds its stream of the connection until it is dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;

use super::connection::Slot;

/// Bytes as they arrive; at most the window of the stream is read ahead.
pub(crate) struct Body {
    incoming: Incoming,
    _slot: Slot,
}

// === impl Body ===

impl Body {
    pub(super) fn new(incoming: Incoming, slot: Slot) -> Self {
        Self { incoming, _slot: slot }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
