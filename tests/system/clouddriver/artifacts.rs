//! Files that pipelines refer to.

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
    let settings = [
        ("/artifacts/http", json!({ "enabled": true, "accounts": [login("web")] })),
        ("/artifacts/helm", json!({ "enabled": true, "accounts": [charts] })),
    ];
    let hub = HubProcess::start("hub-a", &Database::sqlite().unwrap(), &settings).await.unwrap();

    let accounts = get(&hub, "/artifacts/credentials").await.json();
    let names: Vec<_> =
        accounts.as_array().unwrap().iter().map(|account| account["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["embedded-artifact", "kubernetes", "no-auth-http-account", "web", "charts"]);
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
