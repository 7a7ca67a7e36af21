use std::{convert::Infallible, net::SocketAddr, time::Duration};

use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use spindrift_testkit::eventually;
use tokio::{net::TcpListener, task::JoinSet};

use super::{server::ServerParts, *};

/// Responds with "hello" over HTTP/2, with this limit of concurrent streams.
async fn start_server(max_streams: u32) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut acceptor = JoinSet::new();
    acceptor.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let hello =
                service_fn(async |_| Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello")))));
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.max_concurrent_streams(max_streams);
            connections.spawn(builder.serve_connection(TokioIo::new(stream), hello));
        }
    });
    (address, acceptor)
}

fn server_at(address: SocketAddr) -> Arc<Server> {
    let parts = ServerParts {
        url: format!("http://{address}").parse().unwrap(),
        authorities: None,
        insecure: false,
        server_name: None,
        identity: None,
        proxy: None,
    };
    Arc::new(Server::build(parts).unwrap())
}

#[tokio::test]
async fn unused_connections_are_closed() {
    let (address, _acceptor) = start_server(1).await;
    let server = server_at(address);
    let counters = Arc::new(Counters::default());
    let pool = Arc::new(Pool::new(Duration::from_millis(50), Arc::clone(&counters)));
    let used = pool.slot(&server).await.unwrap();
    let extra = pool.slot(&server).await.unwrap();
    assert_eq!(counters.snapshot().connections, 2);
    drop(extra);
    eventually!("the extra one is closed", counters.snapshot().connections == 1);
    let request = Request::get(format!("http://{address}/")).body(Full::default()).unwrap();
    assert_eq!(used.send(request).await.unwrap().status(), StatusCode::OK);
    drop(used);
    eventually!(
        "the last one is closed",
        counters.snapshot() == TransportStats { dials: 2, ..Default::default() }
    );
}

#[tokio::test]
async fn a_server_that_has_moved_gets_no_new_streams_where_it_was() {
    let (address, _acceptor) = start_server(100).await;
    let counters = Arc::new(Counters::default());
    let pool = Arc::new(Pool::new(Duration::from_secs(30), Arc::clone(&counters)));
    let old = pool.slot(&server_at(address)).await.unwrap();
    let moved = server_at(address);
    let (first, second) = (pool.slot(&moved).await.unwrap(), pool.slot(&moved).await.unwrap());
    assert!(!first.was_used_before() && second.was_used_before());
    assert_eq!(counters.snapshot().connections, 2, "the old stream keeps its connection");
    drop(old);
    eventually!("which ends with it", counters.snapshot().connections == 1);
}
