//! The place for faults: between the listener and the API of a cluster.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;

use crate::cluster::Cluster;

/// A cause that ends a body in the middle.
pub type BodyError = std::io::Error;

/// The body of an answer. An error in it cuts the connection (HTTP/1) or resets the stream (HTTP/2).
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// The body of a request, not yet read.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// The connection is closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cut by the layer")]
pub struct Cut;

/// Stands around the API of one cluster: may answer itself, wait, cut, or wrap the answer's body.
///
/// The path of the request is that within the cluster, without `/clusters/<name>`.
pub trait Layer: Send + Sync + 'static {
    fn handle(
        &self,
        request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, Cut>>;
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
