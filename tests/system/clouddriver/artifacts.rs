//! Files that pipelines refer to.

use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

use super::{ClouddriverAnswer, get, send};

const INDEX: &str = "entries:\n  shop:\n  - {version: 1.0.0, urls: [charts/shop-1.0.0.tgz]}\n  - {version: 2.0.0, urls: [charts/shop-2.0.0.tgz]}\n";

/// A web server with these files, for clients with this authorization.
async fn web_server(files: &'static [(&str, &str)], authorization: &'static str) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await.unwrap());
            }
            let request = String::from_utf8(request).unwrap();
            let path = request.split(' ').nth(1).unwrap();
            let file = files.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
            let (status, body) = match file {
                _ if !request.contains(authorization) => ("401 Unauthorized", ""),
                Some(text) => ("200 OK", text),
                None => ("404 Not Found", ""),
            };
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, server)
}

async fn fetch(hub: &HubProcess, artifact: &Value) -> ClouddriverAnswer {
    let headers = [("Content-Type", "application/json")];
    send(hub, Method::PUT, "/artifacts/fetch", &headers, &artifact.to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_fetched_from_the_configured_host() {
    let files =
        &[("/repo/index.yaml", INDEX), ("/repo/charts/shop-1.0.0.tgz", "chart one"), ("/notes.txt", "notes")];
    // user:s3cr
    let (url, _server) = web_server(files, "authorization: Basic dXNlcjpzM2Ny").await;
    let login = |name: &str| json!({ "name": name, "username": "user", "password": "s3cr" });
    let mut charts = login("charts");
    charts["repository"] = json!(format!("{url}/repo/"));
    let (mut web, nowhere) = (login("web"), login("nowhere"));
    web["loginUrls"] = json!([url]);
    let http = json!({
        "enabled": true,
        "urlRestrictions": { "allowedIps": ["127.0.0.1"] },
        "accounts": [{ "name": "no-auth-http-account" }, web, nowhere],
    });
    let settings =
        [("/artifacts/http", http), ("/artifacts/helm", json!({ "enabled": true, "accounts": [charts] }))];
    let hub = HubProcess::start("hub-a", &Database::sqlite().unwrap(), &settings).await.unwrap();

    let accounts = get(&hub, "/artifacts/credentials").await.json();
    let names: Vec<_> =
        accounts.as_array().unwrap().iter().map(|account| account["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["embedded-artifact", "kubernetes", "no-auth-http-account", "web", "nowhere", "charts"]
    );
    assert!(!hub.daemon().log().contains("s3cr"), "what is configured is logged without passwords");

    let web = |account: &str, path: &str| json!({ "type": "http/file", "artifactAccount": account, "reference": format!("{url}{path}") });
    let chart = |version: Value| json!({ "type": "helm/chart", "artifactAccount": "charts", "name": "shop", "version": version });
    let table = [
        (
            json!({ "type": "embedded/base64", "artifactAccount": "embedded-artifact", "reference": "aGVsbG86IHdvcmxk" }),
            200,
            "hello: world",
        ),
        (
            json!({ "type": "embedded/base64", "artifactAccount": "embedded-artifact", "reference": "aGk" }),
            200,
            "hi",
        ),
        (web("web", "/notes.txt"), 200, "notes"),
        (web("web", "/nope"), 502, "404"),
        (web("no-auth-http-account", "/notes.txt"), 502, "401"),
        (web("nowhere", "/notes.txt"), 400, "loginUrls"),
        (
            json!({ "type": "http/file", "artifactAccount": "web", "reference": "file:///etc/passwd" }),
            400,
            "expected an http or https URL",
        ),
        (chart(json!("1.0.0")), 200, "chart one"),
        (chart(json!(null)), 502, "shop-2.0.0.tgz"),
        (chart(json!("3.0.0")), 404, "Chart not found"),
        (json!({ "type": "helm/index", "artifactAccount": "charts" }), 200, "entries:"),
        (
            json!({ "type": "kubernetes/secret", "artifactAccount": "kubernetes", "name": "x" }),
            400,
            "retrieved by kubernetes directly",
        ),
        (
            json!({ "type": "embedded/base64", "reference": "aGk=" }),
            400,
            "An artifact account must be supplied to download this artifact: null",
        ),
        (json!({ "type": "embedded/base64", "artifactAccount": "nope", "reference": "aGk=" }), 404, ""),
        (json!([1]), 400, "Failed to read request"),
    ];
    for (artifact, status, says) in table {
        let answer = fetch(&hub, &artifact).await;
        assert!(answer.status == status && answer.text.contains(says), "{artifact}: {answer:?}");
    }
    let account = "/artifacts/account/charts";
    assert_eq!(get(&hub, &format!("{account}/names?type=helm/chart")).await.json(), json!(["shop"]));
    let versions = get(&hub, &format!("{account}/versions?type=helm%2Fchart&artifactName=shop")).await;
    assert_eq!(versions.json(), json!(["1.0.0", "2.0.0"]), "as the index has them");
    assert_eq!(get(&hub, "/artifacts/account/nope/names?type=helm/chart").await.status, 404);
    assert_eq!(get(&hub, &format!("{account}/names")).await.status, 400);
}

/// Redirects every request to a URL.
async fn redirecting(address: &str, to: String) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await.unwrap());
            }
            let answer = format!(
                "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_reach_addresses_that_are_not_allowed() {
    // Everything here is on loopback addresses, of which one is allowed.
    let inner = TcpListener::bind("127.0.0.3:0").await.unwrap();
    let port = inner.local_addr().unwrap().port();
    let (outer, _server) = redirecting("127.0.0.2", format!("http://127.0.0.3:{port}/latest")).await;
    let http = json!({ "enabled": true, "urlRestrictions": { "allowedIps": ["127.0.0.2"] } });
    let hub =
        HubProcess::start("hub-a", &Database::sqlite().unwrap(), &[("/artifacts/http", http)]).await.unwrap();
    let file = |url: &str| json!({ "type": "http/file", "artifactAccount": "no-auth-http-account", "reference": url });
    for (url, says) in [
        (outer.clone(), "127.0.0.3 is not allowed"),
        (format!("http://127.0.0.3:{port}/"), "127.0.0.3 is not allowed"),
        (format!("http://localhost:{port}/"), "localhost is not allowed"),
        (format!("http://[::ffff:127.0.0.3]:{port}/"), "127.0.0.3 is not allowed"),
        (format!("http://2130706435:{port}/"), "127.0.0.3 is not allowed"),
        (format!("{}/health", hub.url().replace("127.0.0.1", "127.1")), "127.0.0.1 is not allowed"),
    ] {
        let answer = fetch(&hub, &file(&url)).await;
        assert!(answer.status == 400 && answer.text.contains(says), "{url}: {answer:?}");
        assert!(answer.text.contains("artifacts.http.urlRestrictions."), "{url}: {answer:?}");
    }
    assert!(inner.accept().now_or_never().is_none(), "nothing was dialled");
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_stay_with_the_servers_they_are_configured_for() {
    let secret = "authorization: Basic dXNlcjpzM2Ny";
    let (other, seen, _other) = recording("127.0.0.2", "chart".to_owned()).await;
    let index = format!("entries:\n  shop:\n  - {{version: 1.0.0, urls: ['{other}/shop.tgz']}}\n");
    let (repository, at_repository, _repository) = recording("127.0.0.2", index).await;
    let login = json!({ "name": "corp", "username": "user", "password": "s3cr", "repository": repository,
        "loginUrls": [repository] });
    let restrictions = json!({ "allowedIps": ["127.0.0.2"] });
    let part = json!({ "enabled": true, "accounts": [login], "urlRestrictions": restrictions });
    let settings = [("/artifacts/http", part.clone()), ("/artifacts/helm", part)];
    let hub = HubProcess::start("hub-a", &Database::sqlite().unwrap(), &settings).await.unwrap();

    let chart =
        json!({ "type": "helm/chart", "artifactAccount": "corp", "name": "shop", "version": "1.0.0" });
    let answer = fetch(&hub, &chart).await;
    assert_eq!((answer.status, &*answer.text), (200, "chart"));
    assert!(at_repository.lock().iter().all(|request| request.contains(secret)), "{at_repository:?}");
    assert!(seen.lock().iter().all(|request| !request.contains("authorization")), "{seen:?}");
    assert_eq!(seen.lock().len(), 1);

    let file = json!({ "type": "http/file", "artifactAccount": "corp", "reference": format!("{other}/x") });
    let refused = fetch(&hub, &file).await;
    assert!(refused.status == 400 && refused.text.contains("loginUrls"), "{refused:?}");
    assert_eq!(seen.lock().len(), 1, "it was not requested");
}

/// Serves one text, and records the requests.
async fn recording(address: &str, text: String) -> (String, Arc<Mutex<Vec<String>>>, JoinSet<()>) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(vec![]));
    let (mut server, seen) = (JoinSet::new(), requests.clone());
    server.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await.unwrap());
            }
            seen.lock().push(String::from_utf8(request).unwrap());
            let length = text.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}");
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, requests, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_end_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    // A byte of a body, or none of a head, and then nothing.
    server.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            connections.spawn(async move {
                let mut head = [0; 64];
                let read = connection.read(&mut head).await.unwrap();
                let is_body = String::from_utf8_lossy(&head[..read]).starts_with("GET /body");
                if is_body {
                    connection.write_all(b"HTTP/1.1 200 OK\r\n\r\nx").await.unwrap();
                }
                std::future::pending::<()>().await;
            });
        }
    });
    let settings = [
        ("/artifacts/http", json!({ "enabled": true, "urlRestrictions": { "allowedIps": ["127.0.0.2"] } })),
        ("/artifacts/timeoutMs", json!(500)),
    ];
    let hub = HubProcess::start("hub-a", &Database::sqlite().unwrap(), &settings).await.unwrap();
    let file = |path: &str| json!({ "type": "http/file", "artifactAccount": "no-auth-http-account", "reference": format!("{url}{path}") });
    let answer = fetch(&hub, &file("/head")).await;
    assert!(answer.status == 504 && answer.text.contains("deadline exceeded"), "{answer:?}");
    let body = reqwest::Client::new()
        .put(format!("{}/artifacts/fetch", hub.url()))
        .header("Content-Type", "application/json")
        .body(file("/body").to_string())
        .send()
        .await
        .unwrap();
    assert!(body.bytes().await.is_err(), "it is not taken for whole");
}
