//! Axum over the accept loop.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures::StreamExt;
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::Service;
use tracing::{debug, warn};

use super::request_body::{self, BodyTime, RequestBody};
use super::write_deadline::WriteDeadline;
use super::{Endpoint, incoming};
use crate::shutdown::Shutdown;

/// Deadline for the head of a request.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// Deadline for a write: a peer that takes nothing for so long is gone, or ties up buffers.
const WRITE_DEADLINE: Duration = Duration::from_mins(1);

/// Serves a router until shutdown, then lets requests in flight finish.
///
/// Requests carry [`PeerInfo`](super::PeerInfo) as an extension. Spawn it by `shutdown.spawn("serve.rest", …)`.
pub async fn serve_http(
    listener: TcpListener,
    endpoint: Endpoint,
    router: Router,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let name = endpoint.name;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE);
    builder.http2().timer(TokioTimer::new());
    let bodies = request_body::budget();
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut incoming = pin!(incoming(listener, endpoint, &shutdown));

    loop {
        let connection = tokio::select! {
            biased;
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    warn!(port = name, %error, "connection ended abruptly");
                }
                continue;
            }
            connection = incoming.next() => match connection {
                Some(Ok(connection)) => connection,
                Some(Err(error)) => {
                    debug!(port = name, %error, "connection was lost");
                    continue;
                }
                None => break,
            },
        };
        let peer = connection.peer().clone();
        let remote = peer.remote;
        let router = router.clone();
        let bodies = bodies.clone();
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            // Until the response begins: a handler holds the body, or a document that it has parsed, for that long.
            let held = Arc::new(Mutex::new(bodies.hold(remote.ip())));
            let request = request.map(|body| {
                if body.is_end_stream() {
                    return Body::empty();
                }
                Body::new(RequestBody::new(body, Arc::clone(&held), BodyTime::default()))
            });
            let mut router = router.clone();
            async move {
                let response = router.call(request).await;
                drop(held);
                response
            }
        });
        let connection = TokioIo::new(WriteDeadline::new(connection, WRITE_DEADLINE));
        let serving = builder.serve_connection(connection, service).into_owned();
        let serving = graceful.watch(serving);
        connections.spawn(async move {
            if let Err(error) = serving.await {
                debug!(port = name, peer = %remote, %error, "connection failed");
            }
        });
    }
    // The deadline is that of the whole shutdown, which aborts this task.
    graceful.shutdown().await;
    Ok(())
}
