//! Layers for faults: between the listener and the API of a cluster.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;

use super::Cluster;

/// Error that ends a body in the middle.
pub type BodyError = std::io::Error;

/// Body of a response. An error in it closes the connection (HTTP/1) or resets the stream (HTTP/2).
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Unread body of a request.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// Closes the connection without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cut by the layer")]
pub struct ConnectionClosed;

/// Wraps the API of one cluster: can respond itself, delay, close the connection, or wrap the response's body.
///
/// The path of the request is relative to the cluster, without `/clusters/<name>`.
pub trait Layer: Send + Sync + 'static {
    fn handle(
        &self,
        request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionClosed>>;
}

/// The API behind a layer.
pub struct Next {
    pub(crate) cluster: Arc<Cluster>,
}

// === impl Next ===

impl Next {
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }
}
