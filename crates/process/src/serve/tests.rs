//! Real sockets, right and wrong peers.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::testing::Pki;
use crate::tls::{ClientAuth, ClientTls, ClientTlsFiles};

const PLAIN_GOT_TLS: &str = "the gRPC port (grpc.port) serves plaintext but the peer speaks TLS; \
    set clouddriver.insecure: true in the agent or grpc.tls: true in the hub";
const TLS_GOT_PLAIN: &str = "the gRPC port (grpc.port) requires TLS but the peer speaks plaintext; \
    set clouddriver.insecure: false in the agent or grpc.tls: false in the hub";
const HTTP1: &str = "the gRPC port (grpc.port) speaks HTTP/2 only but the peer speaks HTTP/1; \
    let proxies in between pass HTTP/2 through, and send other requests to the REST port";

const GRACE: Duration = Duration::from_secs(5);

fn endpoint(expects: Expects, tls: Option<ServerTls>) -> Endpoint {
    Endpoint { name: "gRPC", setting: "grpc.port", expects, tls, tls_setting: Some("grpc.tls") }
}

/// Serves a router that returns the peer of each request.
async fn start(endpoint: Endpoint) -> (SocketAddr, Shutdown) {
    let router = Router::new().route(
        "/",
        get(async |Extension(peer): Extension<PeerInfo>| {
            format!("{} shows {}", peer.remote.ip(), peer.certificates.map_or(0, |shown| shown.len()))
        }),
    );
    start_router(endpoint, router).await
}

async fn start_router(endpoint: Endpoint, router: Router) -> (SocketAddr, Shutdown) {
    let shutdown = Shutdown::new();
    let listener = bind(endpoint.name, endpoint.setting, "127.0.0.1", 0).await.unwrap();
    let address = listener.local_addr().unwrap();
    shutdown.spawn("serve", serve_http(listener, endpoint, router, shutdown.clone()));
    (address, shutdown)
}

/// Sends bytes and reads the whole response.
async fn say<IO: AsyncRead + AsyncWrite + Unpin>(mut stream: IO, words: &[u8]) -> Vec<u8> {
    stream.write_all(words).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// Asks by HTTP/2 without negotiation and gives the body.
async fn ask_http2<IO>(stream: IO) -> String
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    let request = hyper::Request::get("http://hub/").body(axum::body::Body::empty()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let body = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1024).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

fn assert_bad_request(answer: &[u8], sentence: &str) {
    let answer = String::from_utf8_lossy(answer);
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.ends_with(&format!("\r\n\r\n{sentence}\n")), "{answer}");
}

#[tokio::test]
async fn any_http_is_served_in_plaintext() {
    let (address, shutdown) = start(endpoint(Expects::AnyHttp, None)).await;
    let text = reqwest::get(format!("http://{address}/")).await.unwrap().text().await.unwrap();
    assert_eq!(text, "127.0.0.1 shows 0");
    assert_eq!(ask_http2(TcpStream::connect(address).await.unwrap()).await, "127.0.0.1 shows 0");
    shutdown.trigger();
    shutdown.wait(GRACE).await.unwrap();
}

#[tokio::test]
async fn certificates_of_the_peer_reach_the_request() {
    let pki = Pki::new();
    let tls = ServerTls::open(pki.server_files(ClientAuth::Optional)).unwrap();
    for expects in [Expects::AnyHttp, Expects::Http2Only] {
        let (address, _shutdown) = start(endpoint(expects, Some(tls.clone()))).await;
        for (files, seen) in [
            (pki.client_files(), "127.0.0.1 shows 1"),
            (ClientTlsFiles { ca: Some(pki.ca()), ..ClientTlsFiles::default() }, "127.0.0.1 shows 0"),
        ] {
            let client = ClientTls::open(files).unwrap();
            let stream =
                client.connect("localhost", TcpStream::connect(address).await.unwrap()).await.unwrap();
            assert_eq!(ask_http2(stream).await, seen);
        }
    }
}

#[tokio::test]
async fn tls_to_a_plaintext_port_gets_an_alert() {
    let (address, _shutdown) = start(endpoint(Expects::Http2Only, None)).await;
    let client = ClientTls::open(Pki::new().client_files()).unwrap();
    let error = client.connect("localhost", TcpStream::connect(address).await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("HandshakeFailure"), "{error}");
}

#[tokio::test]
async fn plaintext_http2_to_a_tls_port_gets_a_go_away_with_the_sentence() {
    let tls = ServerTls::open(Pki::new().server_files(ClientAuth::None)).unwrap();
    let (address, _shutdown) = start(endpoint(Expects::Http2Only, Some(tls))).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    let stream = TcpStream::connect(address).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    writer.write_all(preface).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).await.unwrap();

    let (settings, go_away) = answer.split_at(9);
    assert_eq!(settings, b"\0\0\0\x04\0\0\0\0\0");
    assert_eq!(go_away[3], 7, "GOAWAY");
    assert_eq!(go_away[9..17], [0, 0, 0, 0, 0, 0, 0, 0xc]);
    assert_eq!(String::from_utf8_lossy(&go_away[17..]), TLS_GOT_PLAIN);
    assert_eq!(usize::from(go_away[1]) << 8 | usize::from(go_away[2]), go_away.len() - 9);
}

#[tokio::test]
async fn http1_where_it_is_not_spoken_gets_the_sentence() {
    let pki = Pki::new();
    let tls = ServerTls::open(pki.server_files(ClientAuth::None)).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n";

    let (plain, _shutdown) = start(endpoint(Expects::Http2Only, None)).await;
    assert_bad_request(&say(TcpStream::connect(plain).await.unwrap(), request).await, HTTP1);
    let response = reqwest::get(format!("http://{plain}/")).await.unwrap();
    assert_eq!(response.status(), 400);
    assert_eq!(response.text().await.unwrap(), format!("{HTTP1}\n"));

    let (secure, _shutdown) = start(endpoint(Expects::Http2Only, Some(tls))).await;
    assert_bad_request(&say(TcpStream::connect(secure).await.unwrap(), request).await, TLS_GOT_PLAIN);
    let client = ClientTls::open(pki.client_files()).unwrap();
    let stream = client.connect("localhost", TcpStream::connect(secure).await.unwrap()).await.unwrap();
    assert_bad_request(&say(stream, request).await, HTTP1);
}

#[tokio::test]
async fn rest_ports_do_not_speak_of_agents() {
    let rest = Endpoint { name: "REST", setting: "server.port", ..endpoint(Expects::AnyHttp, None) };
    assert_eq!(
        refuse::Mistake::Tls.sentence(&rest),
        "the REST port (server.port) serves plaintext but the peer speaks TLS; use http:// or set grpc.tls: true"
    );
    assert_eq!(refuse::Mistake::Tls.sentence(&endpoint(Expects::Http2Only, None)), PLAIN_GOT_TLS);
}

#[tokio::test]
async fn garbage_is_cut_off() {
    let (address, _shutdown) = start(endpoint(Expects::AnyHttp, None)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"EHLO\r\n").await.unwrap();
    let mut answer = Vec::new();
    // Closed by a reset or by an end, depending on the bytes read before.
    if stream.read_to_end(&mut answer).await.is_ok() {
        assert!(answer.is_empty());
    }
}

#[tokio::test]
async fn silent_peers_delay_nobody() {
    let (address, _shutdown) = start(endpoint(Expects::AnyHttp, None)).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let text = reqwest::get(format!("http://{address}/")).await.unwrap().text().await.unwrap();
    assert_eq!(text, "127.0.0.1 shows 0");
}

#[tokio::test]
async fn shutdown_lets_a_request_in_flight_finish() {
    let (started_tx, mut started_rx) = mpsc::channel::<mpsc::Sender<()>>(1);
    let slow = get(async |State(started_tx): State<mpsc::Sender<mpsc::Sender<()>>>| {
        let (finish_tx, mut finish_rx) = mpsc::channel(1);
        started_tx.send(finish_tx).await.unwrap();
        finish_rx.recv().await;
        "done"
    });
    let router = Router::new().route("/", slow).with_state(started_tx);
    let (address, shutdown) = start_router(endpoint(Expects::AnyHttp, None), router).await;

    let request = async { reqwest::get(format!("http://{address}/")).await.unwrap().text().await.unwrap() };
    let stop = async {
        let finish_tx = started_rx.recv().await.unwrap();
        shutdown.trigger();
        finish_tx.send(()).await.unwrap();
        shutdown.wait(GRACE).await.unwrap();
    };
    let (text, ()) = tokio::join!(request, stop);
    assert_eq!(text, "done");
}

#[tokio::test]
async fn tonic_serves_our_connections() {
    let shutdown = Shutdown::new();
    let listener = bind("gRPC", "grpc.port", "127.0.0.1", 0).await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = incoming(listener, endpoint(Expects::Http2Only, None), &shutdown);
    let server = tonic::transport::Server::builder().add_routes(tonic::service::Routes::default());
    let stop = shutdown.token().cancelled_owned();
    shutdown.spawn("grpc", server.serve_with_incoming_shutdown(connections, stop));
    assert_eq!(ask_http2(TcpStream::connect(address).await.unwrap()).await, "");
    shutdown.trigger();
    shutdown.wait(GRACE).await.unwrap();
}

#[tokio::test]
async fn taken_port_names_the_setting() {
    let first = bind("REST", "server.port", "*", 0).await.unwrap();
    let port = first.local_addr().unwrap().port();
    let error = bind("REST", "server.port", "*", port).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("port {port} (REST) is taken by another process; stop it or change server.port")
    );
    let error = bind("REST", "server.port", "192.0.2.1", 0).await.unwrap_err();
    assert_eq!(error.to_string(), "listen on 192.0.2.1:0 (REST, server.port)");
}
