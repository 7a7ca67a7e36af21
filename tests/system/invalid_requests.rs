//! Invalid requests are refused with the reason, on every database, and disturb no other client.

mod bodies;

use futures::future::join_all;
use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// A hub with an account, and another client whose connection stays open all the time.
struct RequestSetup {
    stage: Stage,
    stack: Stack,
    bystander: TcpStream,
}

/// RawAnswer of the hub; none, if the hub closed the connection without one.
#[derive(Debug, PartialEq, Eq)]
struct RawAnswer {
    status: u16,
    text: String,
}

// === impl RequestSetup ===

impl RequestSetup {
    async fn set(database: Database) -> Self {
        let stage = Stage::set(1).await;
        let stack = Stack::with_accounts(database, &["ConfigMap"], json!(stage.accounts())).await;
        stack.synced(stage.fleet.clusters[0].name()).await;
        let mut bystander = connect(&stack.hub).await;
        is_served(&mut bystander).await;
        Self { stage, stack, bystander }
    }

    fn hub(&self) -> &HubProcess {
        &self.stack.hub
    }

    fn account(&self) -> &str {
        self.stage.fleet.clusters[0].name()
    }

    /// Nothing was begun or changed, no fault was logged, and who was there before is still served.
    async fn is_unimpressed(&mut self) {
        is_served(&mut self.bystander).await;
        assert_eq!(self.hub().get("/task").await.unwrap(), json!([]));
        assert_eq!(self.stack.account(self.account()).await["frozen"], Value::Null);
        let log = self.hub().daemon().log();
        assert!(!log.contains("a request failed") && !log.contains("panicked"), "{log}");
    }
}

async fn connect(hub: &HubProcess) -> TcpStream {
    TcpStream::connect(hub.url().trim_start_matches("http://")).await.unwrap()
}

/// Asks for the hub's health on a connection that stays open.
async fn is_served(connection: &mut TcpStream) {
    connection.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 4096];
    let length = timeout(LONG, connection.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"UP\""), "{answer}");
}

/// Sends these bytes, just as they are, on a connection of their own.
async fn send(hub: &HubProcess, request: &[u8]) -> Option<RawAnswer> {
    let (mut from_hub, mut to_hub) = connect(hub).await.into_split();
    let mut answer = Vec::new();
    // The hub may have answered, and closed, before it has all of it.
    let sent = async { to_hub.write_all(request).await.ok() };
    let received = async { from_hub.read_to_end(&mut answer).await.ok() };
    timeout(LONG, async { tokio::join!(sent, received) }).await.expect("an answer");
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(RawAnswer { status, text })
}

/// Sends these bytes and hangs up.
async fn break_off(hub: &HubProcess, request: &[u8]) {
    connect(hub).await.write_all(request).await.unwrap();
}

/// A request, byte by byte.
fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n"
    );
    [head.as_bytes(), headers.as_bytes(), b"\r\n", body].concat()
}

/// A party popper and an umlaut, in a path.
const FOREIGN: &str = "%F0%9F%8E%89%C3%BC";

#[tokio::test(flavor = "multi_thread")]
async fn names_that_nothing_can_have_are_refused_or_not_found_on_every_store() {
    join_all(Database::all().await.unwrap().into_iter().map(|database| async move {
        let engine = database.engine();
        let mut setup = RequestSetup::set(database).await;
        let account = setup.account().to_owned();
        let long = "x".repeat(30_000);
        // "a\n\0\nb\nc\nd", in the alphabet of tokens.
        let null_in_token = "YQoACmIKYwpk";
        let table = [
            ("/applications/%00".to_owned(), 400),
            ("/applications/%FF".to_owned(), 400),
            ("/applications/a%2Fb%5C..".to_owned(), 404),
            (format!("/applications/{FOREIGN}"), 404),
            (format!("/applications/{FOREIGN}/serverGroups"), 200),
            (format!("/applications/{FOREIGN}/clusters/{account}/{FOREIGN}"), 404),
            (format!("/applications/{long}"), 404),
            (format!("/serverGroups/{account}/{FOREIGN}/pod%20x"), 404),
            (format!("/serverGroups/{account}/default/{FOREIGN}%20{FOREIGN}"), 404),
            (format!("/serverGroups?ids={account}:{FOREIGN}:pod%20x"), 200),
            (format!("/serverGroups/{account}/{long}/pod%20{long}"), 404),
            (format!("/instances/{account}/{FOREIGN}/{FOREIGN}%20x"), 404),
            (format!("/kubernetes/loadBalancers/{account}/{FOREIGN}/service%20x"), 200),
            (format!("/securityGroups/{account}/kubernetes/{FOREIGN}/networkPolicy%20x"), 404),
            (format!("/manifests/{account}/default/pod%20..%2F..%2Fsecrets%2Fx"), 400),
            (format!("/manifests/{account}/..%2Fkube-system/pod%20x"), 400),
            (format!("/manifests/{account}/{FOREIGN}/{FOREIGN}%20{FOREIGN}"), 404),
            (format!("/credentials/{FOREIGN}"), 404),
            (format!("/task/{FOREIGN}"), 404),
            (format!("/task/{long}"), 404),
            (format!("/kubernetes/task/{FOREIGN}/owner"), 404),
            (format!("/search?type=pod,{FOREIGN}&q={FOREIGN}%27%25_%5C"), 200),
            ("/search?type=pod&q=%00".to_owned(), 400),
            ("/search?type=pod&page=99999999999999999999".to_owned(), 400),
            ("/search?type=pod&page=4294967295".to_owned(), 400),
            ("/search?type=pod&page=2147483647&pageSize=2147483647".to_owned(), 200),
            ("/search?type=pod&page=-2147483648&pageSize=-2147483648".to_owned(), 200),
            (format!("/search?type=pod&q={long}"), 200),
            ("/v1/objects?namespace=%00".to_owned(), 400),
            ("/v1/objects?name=%FF".to_owned(), 200),
            (format!("/v1/objects?namespace={FOREIGN}"), 200),
            (format!("/v1/objects?name={FOREIGN}"), 200),
            (format!("/v1/objects?kind={FOREIGN}"), 200),
            (format!("/v1/objects?account={FOREIGN}"), 200),
            (format!("/v1/objects?continue={null_in_token}"), 400),
            ("/v1/objects?limit=1e3".to_owned(), 400),
            (format!("/v1/watches?account={FOREIGN}"), 200),
            ("/v1/operations/%00".to_owned(), 400),
            (format!("/v1/operations?account={FOREIGN}"), 200),
            ("/armory/agents/%FF".to_owned(), 400),
            (format!("/armory/agents/{FOREIGN}"), 404),
            ("/armory/agent/operations?page=4294967295&items=1000".to_owned(), 200),
            (format!("/agents/kubernetes/accounts/{FOREIGN}"), 200),
        ];
        let mut wrong = Vec::new();
        for (path, expected) in table {
            let answer = send(setup.hub(), &request("GET", &path, "", b"")).await;
            if answer.as_ref().is_none_or(|answer| answer.status != expected) {
                wrong.push(format!("{path:.100} should be {expected}: {answer:.600?}"));
            }
        }
        assert!(wrong.is_empty(), "{engine:?}: {wrong:#?}");
        setup.is_unimpressed().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_ends_its_own_connection_at_most() {
    let mut setup = RequestSetup::set(Database::sqlite().unwrap()).await;
    let ops = "POST /kubernetes/ops HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let chunked = format!("{ops}transfer-encoding: chunked\r\n\r\n");
    let line = |length: usize| "x".repeat(length);
    let requests: Vec<Vec<u8>> = vec![
        b"\0\x01\x02\xff\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"get / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /a\0b HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET http://[::1/ HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET /applications/%zz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".to_vec(),
        b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".to_vec(),
        request("GET", &format!("/{}", line(1_000_000)), "", b""),
        request("GET", &format!("/search?type={}", line(1_000_000)), "", b""),
        request("GET", "/credentials", &format!("x: {}\r\n", line(2_000_000)), b""),
        request("GET", "/credentials", &"x: y\r\n".repeat(1000), b""),
        request("GET", "/credentials", "x-spinnaker-user: \u{fc}\u{1f389}\r\n", b""),
        request("GET", "/v1/objects/watch", "last-event-id: \u{fc}\r\n", b""),
        format!("{chunked}zzz\r\n[]\r\n0\r\n\r\n").into_bytes(),
        format!("{chunked}ffffffffffffffffff\r\n[]\r\n").into_bytes(),
        format!("{ops}content-length: -1\r\n\r\n[]").into_bytes(),
        format!("{ops}content-length: 2\r\ncontent-length: 3\r\n\r\n[]").into_bytes(),
        format!("{ops}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\nzz").into_bytes(),
        format!("{ops}transfer-encoding: gzip\r\n\r\n[]").into_bytes(),
        format!("{ops}expect: 200-ok\r\ncontent-length: 1\r\n\r\n[").into_bytes(),
    ];
    for request in requests {
        let answer = send(setup.hub(), &request).await;
        let what = String::from_utf8_lossy(&request);
        assert!(answer.as_ref().is_none_or(|answer| answer.status < 500), "{what:.200}: {answer:.600?}");
        is_served(&mut setup.bystander).await;
    }
    for request in [
        "",
        "\r\n\r\n",
        "GET /cred",
        ops,
        &format!("{chunked}5\r\n["),
        &format!("{ops}content-length: 50\r\n\r\n["),
    ] {
        break_off(setup.hub(), request.as_bytes()).await;
        is_served(&mut setup.bystander).await;
    }
    setup.is_unimpressed().await;
}
