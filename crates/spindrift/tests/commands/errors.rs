//! Each failure is reported in one line, with the remedy.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::Arc,
};

use spindrift_process::tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles};
use spindrift_testkit::{Certificates, Database, HubProcess, free_port};

use crate::support::Shell;

/// A server that gives every client the same answer, whatever the request.
fn answering(answer: &'static str, tls: Option<Arc<rustls::ServerConfig>>) -> SocketAddr {
    fn talk(mut stream: impl Read + Write, answer: &str) {
        let mut request = [0; 4096];
        // A caller that leaves is of no interest.
        if stream.read(&mut request).is_ok() {
            stream.write_all(answer.as_bytes()).and_then(|()| stream.flush()).ok();
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            match &tls {
                None => talk(stream, answer),
                Some(config) => {
                    let connection = rustls::ServerConnection::new(config.clone()).unwrap();
                    talk(rustls::StreamOwned::new(connection, stream), answer);
                }
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_is_distinguished_from_an_unreachable_hub() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let shell = Shell::new(None);
    let ask = |url: &str| shell.spindrift(&["--hub", url, "accounts"]).error();

    let nobody = format!("http://127.0.0.1:{}", free_port());
    let error = ask(&nobody);
    assert!(
        error.starts_with(&format!("cannot connect to the hub at {nobody} (Connection refused")),
        "{error}"
    );
    assert!(error.contains("spindrift up") && error.contains("--hub URL"), "{error}");

    let error = ask(&hub.grpc().to_string());
    assert!(error.contains("is not a hub's REST port (7002 unless configured)"), "{error}");
    assert!(error.contains("speaks HTTP/2 only"), "the port's own words are passed on: {error}");

    let error = ask(&hub.url().replace("http", "https"));
    assert!(
        error.contains("TLS handshake with https://127.0.0.1") && error.contains("try http://"),
        "{error}"
    );

    let html = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>Welcome!\n";
    let error = ask(&answering(html, None).to_string());
    assert!(error.contains("is not a hub's REST port") && error.contains("<html>Welcome!"), "{error}");

    let error = ask(&answering("SSH-2.0-OpenSSH_9.2\r\n", None).to_string());
    assert!(error.contains("connection to the hub at"), "{error}");

    let error = ask("elsewhere");
    assert!(error.contains("hub \"elsewhere\" not found") && error.contains("config set-hub"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_hub_is_printed_in_its_words() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let shell = Shell::new(Some(&hub));
    let error = shell.spindrift(&["watches", "-a", "a,,b"]).error();
    assert_eq!(error, "account: account name \"\" is empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_are_for_others_than_this_machine() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let shell = Shell::new(Some(&hub)).with("HTTP_PROXY", &nobody).with("http_proxy", &nobody);
    assert_eq!(shell.spindrift(&["accounts", "-o", "json"]).json(), serde_json::json!([]));

    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]";
    let proxy = format!("http://{}", answering(answer, None));
    let shell = Shell::new(None).with("http_proxy", &proxy).with("SPINDRIFT_HUB", "http://hub.invalid");
    assert_eq!(shell.spindrift(&["accounts", "-o", "json"]).json(), serde_json::json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn https_needs_a_certificate_that_is_trusted() {
    spindrift_process::tls::install_provider();
    let certificates = Certificates::new().unwrap();
    let identity = certificates.server("localhost").unwrap();
    let pem = |file: &Path| PemFile::new("test", file.to_str().unwrap());
    let files = ServerTlsFiles {
        certificate_chain: pem(&identity.certificate),
        private_key: pem(&identity.key),
        client_auth: ClientAuth::None,
        trust: None,
        alpn: vec![b"http/1.1".to_vec()],
    };
    let tls = ServerTls::open(files).unwrap().config();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]";
    let url = format!("https://localhost:{}", answering(answer, Some(tls)).port());

    let error = Shell::new(None).spindrift(&["--hub", &url, "accounts"]).error();
    assert!(error.contains("its certificate is not trusted") && error.contains("SSL_CERT_FILE"), "{error}");
    let shell = Shell::new(None).with("SSL_CERT_FILE", certificates.authority().to_str().unwrap());
    assert_eq!(shell.spindrift(&["--hub", &url, "accounts", "-o", "json"]).json(), serde_json::json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_success_failure_usage_and_interruption() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let shell = Shell::new(Some(&hub));
    assert_eq!(shell.spindrift(&["accounts", "--colour"]).code, Some(2));
    assert_eq!(shell.spindrift(&[]).code, Some(2));
    for command in [&["get", "pods"][..], &["describe", "pods"], &["watches"], &["live"]] {
        let nameless = shell.spindrift(&[command, &["-a", ""]].concat());
        assert_eq!(nameless.code, Some(2), "an account without a name is not the whole fleet: {nameless:?}");
    }
    let error = shell.spindrift(&["live"]).error();
    assert!(error.starts_with("live needs a terminal"), "{error}");

    let interrupted = shell.bash(
        r#"set -m; "$SPINDRIFT" accounts -w -o json & while kill -INT $! 2>/dev/null; do :; done; wait $!; echo $?"#,
    );
    assert_eq!(interrupted.out.trim(), "130", "{interrupted:?}");

    let closed = shell.bash(r#""$SPINDRIFT" completion bash | true; echo "${PIPESTATUS[0]}""#);
    assert_eq!(closed.ok().trim(), "0", "a reader that has had enough is no failure");
}
