//! Gateways between agents and servers, as in real networks: they handle HTTP in their own way.

use std::{convert::Infallible, net::SocketAddr, path::Path, sync::Arc};

use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::{DATE, HOST, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822::DateTimePrinter};
use spindrift_process::tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles};
use spindrift_testkit::{Cluster, Identity};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A gateway; dropping it closes everything.
pub(crate) struct Gateway {
    addr: SocketAddr,
    _acceptor: JoinSet<()>,
}

/// Server behind the gateway, and its protocol.
#[derive(Clone)]
enum Behind {
    /// A hub, over HTTP/1 whatever the client uses.
    HubByHttp1(SocketAddr),
    /// A hub, whose clock is off.
    HubWithClock(SocketAddr, SignedDuration),
    /// An API server, whose clock is off.
    ApiServer(kube::Client, SignedDuration),
}

/// Protocol of the gateway's clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    Http1,
    Http2,
}

// === impl Gateway ===

impl Gateway {
    /// Uses HTTP/1 on both sides; over TLS with this ALPN, if it has an identity.
    pub(crate) async fn http1_only(hub: SocketAddr, identity: Option<&Identity>) -> Self {
        let tls = identity.map(|identity| tls(identity, b"http/1.1"));
        Self::start(Behind::HubByHttp1(hub), Front::Http1, tls).await
    }

    /// Passes HTTP/2 through, in plaintext, but with another time.
    pub(crate) async fn hub_with_clock(hub: SocketAddr, ahead: SignedDuration) -> Self {
        Self::start(Behind::HubWithClock(hub, ahead), Front::Http2, None).await
    }

    /// Passes requests to the API server, as its administrator, but with another time.
    pub(crate) async fn api_server(cluster: &Cluster, identity: &Identity, ahead: SignedDuration) -> Self {
        let behind = Behind::ApiServer(cluster.client(), ahead);
        Self::start(behind, Front::Http1, Some(tls(identity, b"http/1.1"))).await
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    async fn start(behind: Behind, front: Front, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut acceptor = JoinSet::new();
        acceptor.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (behind, tls) = (behind.clone(), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, front, behind).await,
                        // Who is no client of TLS is not served.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, front, behind).await;
                            }
                        }
                    }
                });
            }
        });
        Self { addr, _acceptor: acceptor }
    }
}

fn tls(identity: &Identity, alpn: &[u8]) -> TlsAcceptor {
    let file = |path: &Path| PemFile::new("test", path.to_str().unwrap());
    let tls = ServerTls::open(ServerTlsFiles {
        certificate_chain: file(&identity.certificate),
        private_key: file(&identity.key),
        client_auth: ClientAuth::None,
        trust: None,
        alpn: vec![alpn.to_vec()],
    });
    TlsAcceptor::from(tls.unwrap().config())
}

async fn serve<IO>(stream: IO, front: Front, behind: Behind)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let behind = Arc::new(behind);
    let service = service_fn(move |request| {
        let behind = Arc::clone(&behind);
        async move { Ok::<_, Infallible>(behind.answer(request).await) }
    });
    let stream = TokioIo::new(stream);
    // A client that goes away is no failure.
    match front {
        Front::Http1 => {
            hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await.ok();
        }
        Front::Http2 => {
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.serve_connection(stream, service).await.ok();
        }
    }
}

// === impl Behind ===

impl Behind {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match self {
            Self::HubByHttp1(hub) => by_http1(*hub, request).await,
            Self::HubWithClock(hub, ahead) => with_clock(by_http2(*hub, request).await, *ahead),
            Self::ApiServer(client, ahead) => {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
                let answer = client.send(request).await.unwrap();
                with_clock(answer.map(|body| body.map_err(Into::into).boxed_unsync()), *ahead)
            }
        }
    }
}

async fn by_http1(hub: SocketAddr, request: Request<Incoming>) -> Response<Body> {
    let stream = TokioIo::new(TcpStream::connect(hub).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let path = request.uri().path().to_owned();
    let mut forwarded = Request::new(Full::<Bytes>::default());
    *forwarded.uri_mut() = path.parse().unwrap();
    forwarded.headers_mut().insert(HOST, HeaderValue::from_str(&hub.to_string()).unwrap());
    let (head, body) = sender.send_request(forwarded).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Response::from_parts(head, Full::new(body).map_err(|never| match never {}).boxed_unsync())
}

async fn by_http2(hub: SocketAddr, request: Request<Incoming>) -> Response<Body> {
    let stream = TokioIo::new(TcpStream::connect(hub).await.unwrap());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    // With its trailers, where gRPC has its status.
    let body = body.collect().await.unwrap();
    Response::from_parts(head, body.map_err(|never| match never {}).boxed_unsync())
}

fn with_clock(mut answer: Response<Body>, ahead: SignedDuration) -> Response<Body> {
    let time = DateTimePrinter::new().timestamp_to_rfc9110_string(&(Timestamp::now() + ahead)).unwrap();
    answer.headers_mut().insert(DATE, HeaderValue::from_str(&time).unwrap());
    answer
}
