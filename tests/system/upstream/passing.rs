//! Requests for accounts and paths that are not ours.

use serde_json::json;
use spindrift_process::tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles};
use spindrift_testkit::{Certificates, Daemon, Database, HubProcess, binary, eventually, scratch};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};
use tokio_stream::wrappers::ReceiverStream;

use super::{UpstreamSetup, ask};
use crate::support::LONG;

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_other_accounts_pass_through_unchanged() {
    let setup = UpstreamSetup::set().await;
    let path =
        "/manifests/account1/account1-testns00/CronTab.stable.example.com%20my-cron?includeEvents=false";
    let headers = [
        ("X-SPINNAKER-USER", "ann"),
        ("X-SPINNAKER-ACCOUNTS", "account1,wide"),
        ("X-SPINNAKER-ANYTHING", "goes"),
        ("Connection", "X-Hop"),
        ("X-Hop", "1"),
    ];
    let answer = ask(&setup.stack.hub, "GET", path, &headers, None).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json;charset=UTF-8"));
    assert_eq!(answer.json()["name"], "CronTab.stable.example.com my-cron");
    assert!(answer.text.contains(".0"), "numbers are as they were written: {}", answer.text);
    let asked = setup.clouddriver.received().into_iter().find(|asked| asked.path == path).unwrap();
    assert_eq!(asked.headers["x-spinnaker-user"], "ann");
    assert_eq!(asked.headers["x-spinnaker-anything"], "goes");
    assert_eq!(asked.headers["via"], "1.1 hub-a");
    assert!(!asked.headers.contains_key("x-hop"), "what is between two neighbours is not passed on");
    assert_eq!(asked.headers["host"], setup.link.addr().to_string());

    // Its refusals are its own, and unknown paths are its to answer.
    let missing = setup.get("/manifests/account1/default/deployment%20nope").await;
    assert_eq!((missing.status, &missing.json()["status"]), (404, &json!(404)));
    assert_eq!(setup.get("/vpcs").await.json(), json!([]));
    let unknown = ask(&setup.stack.hub, "POST", "/aws/ops", &[], Some(&json!([{ "a": {} }]))).await;
    assert_eq!((unknown.status, unknown.header("content-type")), (404, Some("application/problem+json")));
    let mut received = setup.clouddriver.received().into_iter();
    let posted = received.find(|asked| asked.path == "/aws/ops").unwrap();
    assert_eq!(posted.body, json!([{ "a": {} }]));

    // Our own paths never go there.
    assert_eq!(setup.get("/v1/accounts").await.status, 200);
    assert!(!setup.clouddriver.received().iter().any(|asked| asked.path.starts_with("/v1/")));
}

/// A hub before a Clouddriver whose answers the test sends.
async fn before_a_puppet(settings: &[(&str, serde_json::Value)]) -> (HubProcess, TcpListener, Database) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = json!(format!("http://{}", listener.local_addr().unwrap()));
    let database = Database::sqlite().unwrap();
    let settings = [&[("/upstream/url", url)], settings].concat();
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    (hub, listener, database)
}

/// Reads until some text has come.
async fn heard(connection: &mut TcpStream, text: &str) -> String {
    let mut all = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&all).contains(text) {
            let read = connection.read_buf(&mut all).await.unwrap();
            assert_ne!(read, 0, "the connection ended after {:?}", String::from_utf8_lossy(&all));
        }
    };
    tokio::time::timeout(LONG, reading).await.unwrap();
    String::from_utf8(all).unwrap()
}

/// The first connection with a request for a path; a hub that starts also requests the health of the Clouddriver.
async fn called(listener: &TcpListener, path: &str) -> (TcpStream, String) {
    loop {
        let (mut connection, _) = tokio::time::timeout(LONG, listener.accept()).await.unwrap().unwrap();
        let head = heard(&mut connection, "\r\n\r\n").await;
        if head.contains(path) {
            return (connection, head);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_pass_in_both_directions_as_they_come() {
    let (hub, listener, _database) = before_a_puppet(&[]).await;
    let (parts, body) = mpsc::channel::<Result<&'static str, std::io::Error>>(1);
    let body = reqwest::Body::wrap_stream(ReceiverStream::new(body));
    let sending = reqwest::Client::new().post(format!("{}/aws/ops", hub.url())).body(body).send();
    let puppet = async {
        let (mut connection, _) = called(&listener, "POST /aws/ops ").await;
        // Each part of the request arrives before the next is sent, …
        parts.send(Ok("first half, ")).await.unwrap();
        heard(&mut connection, "first half, ").await;
        parts.send(Ok("second half")).await.unwrap();
        drop(parts);
        heard(&mut connection, "\r\n0\r\n\r\n").await;
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/plain\r\n\r\n";
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(b"6\r\nonce, \r\n").await.unwrap();
        connection
    };
    let (response, mut connection) = tokio::join!(sending, puppet);
    // … and each part of the answer before the next is.
    let mut response = response.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "once, ");
    connection.write_all(b"5\r\ntwice\r\n0\r\n\r\n").await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "twice");
    assert_eq!(response.chunk().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_begin_or_go_on_in_time_ends() {
    let (hub, listener, _database) = before_a_puppet(&[("/upstream/timeoutMs", json!(500))]).await;
    let never = ask(&hub, "GET", "/manifests/theirs/default/pod%20x", &[], None);
    let (answer, _held) = tokio::join!(never, called(&listener, "GET /manifests/theirs"));
    assert_eq!(answer.status, 504, "{answer:?}");
    assert_eq!(answer.json()["message"], "the upstream Clouddriver did not answer within 500ms");

    let stuck = reqwest::Client::new().get(format!("{}/manifests/theirs/a/pod%20y", hub.url())).send();
    let puppet = async {
        let (mut connection, _) = called(&listener, "/pod%20y").await;
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it").await.unwrap();
        connection
    };
    let (response, _held) = tokio::join!(stuck, puppet);
    assert!(response.unwrap().bytes().await.is_err(), "it is not taken for whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_away_what_is_passed_on_fails_and_ours_goes_on() {
    let setup = UpstreamSetup::set().await;
    setup.link.cut();
    let answer = setup.get("/manifests/account1/default/deployment%20unmanaged").await;
    assert_eq!(answer.status, 502, "never a 404, which would be believed: {answer:?}");
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("the upstream Clouddriver does not answer: "), "{message}");
    let operation = json!([{ "scaleManifest": { "account": "account1", "manifestName": "deployment x" } }]);
    let refused = ask(&setup.stack.hub, "POST", "/kubernetes/ops", &[], Some(&operation)).await;
    assert_eq!(refused.status, 503, "Orca retries it, and nothing was sent: {refused:?}");
    assert_eq!(setup.get("/v1/accounts").await.status, 200);
    let health = setup.get("/health").await;
    assert_eq!((health.status, &health.json()["status"]), (200, &json!("UP")));
    assert_eq!(health.json()["upstream"]["status"], "DOWN", "{health:?}");

    setup.link.heal();
    let path = "/manifests/account1/default/deployment%20unmanaged";
    eventually!("it is there again", LONG, setup.get(path).await.status == 200);
    eventually!("and well", LONG, setup.get("/health").await.json()["upstream"]["status"] == "UP");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_asked_only_for_the_accounts_and_paths_that_it_may_be() {
    let settings = json!({ "accounts": ["account*"], "paths": ["/manifests/*", "/credentials*"] });
    let setup = UpstreamSetup::with(settings).await;
    assert_eq!(setup.get("/credentials/account1").await.status, 200);
    for path in ["/credentials/wide", "/nobody/knows/this"] {
        assert_eq!(setup.get(path).await.status, 404, "{path}");
        assert!(!setup.clouddriver.received().iter().any(|asked| asked.path == path), "{path}");
    }
    let mut shown = ["account1", setup.account()];
    shown.sort_unstable();
    assert_eq!(setup.get("/credentials").await.each("name"), shown, "nor is it believed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_passed_on_is_not_announced() {
    let (hub, listener, _database) = before_a_puppet(&[]).await;
    for path in ["/credentials", "/health"] {
        let body = json!({ "nobody": "reads this" });
        let headers = [("Content-Encoding", "identity"), ("X-Mark", path)];
        let asking = ask(&hub, "GET", path, &headers, Some(&body));
        let puppet = async {
            let (mut connection, head) = called(&listener, &format!("x-mark: {path}")).await;
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]").await.unwrap();
            head
        };
        let (_, head) = tokio::join!(asking, puppet);
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("content-"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_behind_itself_answers_once() {
    let database = Database::sqlite().unwrap();
    let mut hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    hub.configure("/upstream", json!({ "url": hub.url() }));
    hub.restart().await.unwrap();
    let answer = tokio::time::timeout(LONG, ask(&hub, "GET", "/nobody/knows/this", &[], None)).await.unwrap();
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_make_no_sense_are_named() {
    for (upstream, says) in [
        (
            json!({ "url": "clouddriver:7002" }),
            "upstream.url: expected http://host:port or https://host:port",
        ),
        (
            json!({ "url": "https://clouddriver", "tls": { "cacertFile": "/nowhere/ca.pem" } }),
            "upstream.tls.cacertFile",
        ),
    ] {
        let directory = scratch("hub").unwrap();
        let file = directory.path().join("spindrift-hub.yml");
        std::fs::write(&file, json!({ "upstream": upstream }).to_string()).unwrap();
        let config = ["--config", &file.display().to_string()];
        let hub = Daemon::spawn(binary("spindrift-hub").unwrap(), &config, &[]).unwrap();
        assert!(!hub.exit(LONG).await.unwrap().success(), "{}", hub.log());
        assert!(hub.log().contains(says), "{}", hub.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_spoken_to_by_tls_if_its_certificate_is_trusted() {
    let certificates = Certificates::new().unwrap();
    let identity = certificates.server("clouddriver").unwrap();
    let tls = ServerTls::open(ServerTlsFiles {
        certificate_chain: PemFile::new("certificate", &identity.certificate.display().to_string()),
        private_key: PemFile::new("key", &identity.key.display().to_string()),
        client_auth: ClientAuth::None,
        trust: None,
        alpn: vec![],
    });
    let acceptor = tokio_rustls::TlsAcceptor::from(tls.unwrap().config());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = json!(format!("https://{}", listener.local_addr().unwrap()));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let Ok(mut connection) = acceptor.accept(connection).await else { continue };
            let mut head = vec![0; 4096];
            let read = connection.read(&mut head).await.unwrap_or_default();
            assert!(head[..read].starts_with(b"GET "));
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nsafe";
            connection.write_all(answer).await.unwrap();
            connection.shutdown().await.unwrap();
        }
    });
    let database = Database::sqlite().unwrap();
    let trusted = json!({ "url": url, "tls": { "cacertFile": certificates.authority() } });
    let mut hub = HubProcess::start("hub-a", &database, &[("/upstream", trusted)]).await.unwrap();
    let path = "/manifests/theirs/default/pod%20x";
    assert_eq!(ask(&hub, "GET", path, &[], None).await.text, "safe");

    // Files may be replaced, as they are when certificates are renewed.
    let bundle = scratch("trust").unwrap();
    let file = bundle.path().join("ca.pem");
    std::fs::copy(certificates.authority(), &file).unwrap();
    hub.configure("/upstream/tls/cacertFile", json!(file));
    hub.restart().await.unwrap();
    assert_eq!(ask(&hub, "GET", path, &[], None).await.text, "safe");
    let strange = Certificates::new().unwrap();
    std::fs::copy(strange.authority(), &file).unwrap();
    assert_eq!(ask(&hub, "GET", path, &[], None).await.status, 502);
    std::fs::copy(certificates.authority(), &file).unwrap();
    assert_eq!(ask(&hub, "GET", path, &[], None).await.text, "safe");

    hub.configure("/upstream/tls/cacertFile", json!(strange.authority()));
    hub.restart().await.unwrap();
    let refused = ask(&hub, "GET", path, &[], None).await;
    assert_eq!(refused.status, 502);
    assert!(refused.text.contains("certificate"), "{refused:?}");
}
