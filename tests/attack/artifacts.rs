//! Artifacts: URLs that reach other servers than the caller may, and servers that want the login or never end.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};

use crate::target::Target;

/// Loopback addresses stand for all: one is allowed, another stands for a service that callers must not reach, and nothing
/// leaves this host. The account's login is for a server that does not exist.
pub(crate) const SETTINGS: &[(&str, &str)] = &[
    (
        "/artifacts/http",
        r#"{"enabled": true, "urlRestrictions": {"allowedIps": ["127.0.0.2"]},
            "accounts": [{"name": "corp", "username": "svc", "password": "canary", "loginUrls": ["https://127.0.0.9"]}]}"#,
    ),
    ("/artifacts/timeoutMs", "2000"),
    ("/artifacts/maxBytes", "1048576"),
];

/// A server on its own thread that sends the same bytes to every client.
struct HostileServer {
    address: SocketAddr,
    /// First bytes of each request.
    requests: Receiver<String>,
}

pub(crate) async fn forbidden_servers(target: &mut Target) {
    let inner = HostileServer::start("127.0.0.3", ok("inner"), After::Close);
    let port = inner.address.port();
    let rest = target.hub.url().replace("http://127.0.0.1", "");
    let mut urls: Vec<String> = [
        format!("127.0.0.3:{port}"),
        format!("2130706435:{port}"),
        format!("0x7f000003:{port}"),
        format!("0177.0.0.3:{port}"),
        format!("127.3:{port}"),
        format!("[::ffff:127.0.0.3]:{port}"),
        format!("[::127.0.0.3]:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST.:{port}"),
        format!("a.localhost:{port}"),
        format!("127.0.0.2@127.0.0.3:{port}"),
        format!("0.0.0.0{rest}"),
        format!("0{rest}"),
        format!("[::]{rest}"),
        format!("[::1]{rest}"),
        format!("127.0.0.1{rest}"),
    ]
    .iter()
    .map(|authority| format!("http://{authority}/health"))
    .collect();
    let mut redirects = vec![];
    for status in [301, 302, 303, 307, 308] {
        let head =
            format!("HTTP/1.1 {status} X\r\nlocation: http://127.0.0.3:{port}/\r\ncontent-length: 0\r\n\r\n");
        let server = HostileServer::start("127.0.0.2", head.into(), After::Close);
        urls.push(format!("http://{}/", server.address));
        redirects.push(server);
    }
    for url in urls {
        let (status, text) = fetch(target, "no-auth-http-account", &url).await;
        let refused = status == 400 && text.contains("is not allowed");
        target.check(format!("{url} is refused"), refused, format!("{status} {text}"));
    }
    let reached = inner.requests.try_recv();
    target.check("the forbidden server is not dialled", reached.is_err(), format!("{reached:?}"));
}

pub(crate) async fn login_theft(target: &mut Target) {
    let thief = HostileServer::start("127.0.0.2", ok("thief"), After::Close);
    for url in [
        format!("http://{}/", thief.address),
        format!("http://127.0.0.9:443@{}/", thief.address),
        format!("http://127.0.0.2:{}/https://127.0.0.9", thief.address.port()),
    ] {
        let (status, text) = fetch(target, "corp", &url).await;
        target.check(format!("{url} does not get the login"), status == 400, format!("{status} {text}"));
    }
    let (status, text) = fetch(target, "no-auth-http-account", &format!("http://{}/", thief.address)).await;
    target.check("the server is reached without a login", status == 200, format!("{status} {text}"));
    let requests: Vec<String> = thief.requests.try_iter().collect();
    let stolen = requests.iter().any(|request| request.to_lowercase().contains("authorization"));
    target.check("no request has credentials", !stolen && requests.len() == 1, format!("{requests:?}"));
    let log = target.hub.daemon().log();
    target.check("the password is not logged", !log.contains("canary"), "found");
}

pub(crate) async fn endless_servers(target: &mut Target) {
    let flood: Vec<u8> = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &vec![b'x'; 64 * 1024]].concat();
    let declared = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec();
    let head: Vec<u8> = [&b"HTTP/1.1 200 OK\r\n"[..], &b"x: y\r\n".repeat(10_000)].concat();
    let circle = b"HTTP/1.1 302 X\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n".to_vec();
    for (name, bytes, after) in [
        ("a body without end", flood, After::Repeat),
        ("a declared length of 100 GB", declared, After::Hold),
        ("a head without end", head, After::Repeat),
        ("silence after the connection", vec![], After::Hold),
        ("half a head", b"HTTP/1.1 200 OK\r\n".to_vec(), After::Hold),
        ("a body that stops", b"HTTP/1.1 200 OK\r\n\r\nx".to_vec(), After::Hold),
        ("a circle of redirects", circle, After::Close),
    ] {
        for _ in 0..target.scale.pick(1, 20) {
            let server = HostileServer::start("127.0.0.2", bytes.clone(), after);
            let answer =
                request(target, "no-auth-http-account", &format!("http://{}/", server.address)).await;
            let ended = match answer {
                Ok(response) if response.status() == 200 => response.bytes().await.is_err(),
                Ok(response) => response.status().is_server_error(),
                Err(_) => false,
            };
            target.check(format!("{name} is cut off"), ended, "taken for whole, or no answer");
        }
    }
}

fn ok(text: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len()).into()
}

async fn request(target: &Target, account: &str, url: &str) -> reqwest::Result<reqwest::Response> {
    let artifact: Value = json!({ "type": "http/file", "artifactAccount": account, "reference": url });
    let request = reqwest::Client::new().put(format!("{}/artifacts/fetch", target.hub.url()));
    request.header("Content-Type", "application/json").body(artifact.to_string()).send().await
}

async fn fetch(target: &Target, account: &str, url: &str) -> (u16, String) {
    match request(target, account, url).await {
        Ok(response) => (response.status().as_u16(), response.text().await.unwrap_or_default()),
        Err(error) => (0, error.to_string()),
    }
}

/// Behaviour after the bytes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Close,
    /// Sends them until the client closes the connection.
    Repeat,
    /// Sends nothing more until the client closes the connection.
    Hold,
}

// === impl HostileServer ===

impl HostileServer {
    fn start(address: &str, bytes: Vec<u8>, after: After) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (requests_tx, requests) = channel();
        thread::spawn(move || {
            for mut connection in listener.incoming().map_while(Result::ok) {
                let mut head = [0; 4096];
                let read = connection.read(&mut head).unwrap_or_default();
                if requests_tx.send(String::from_utf8_lossy(&head[..read]).into_owned()).is_err() {
                    return;
                }
                let mut sent = connection.write_all(&bytes);
                while after == After::Repeat && sent.is_ok() {
                    sent = connection.write_all(&bytes);
                }
                if after == After::Hold {
                    connection.read_exact(&mut head[..1]).ok();
                }
            }
        });
        Self { address, requests }
    }
}
