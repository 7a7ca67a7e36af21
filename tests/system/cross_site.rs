//! Requests that a web page sends from a user's browser, to ports that are closed to everybody else.

use reqwest::{Client, Method, StatusCode, header::HOST};
use serde_json::{Value, json};
use spindrift_testkit::{Daemon, Database, HubProcess, binary, scratch};

use crate::engine::Stage;
use crate::support::Stack;

/// Sends a request as a browser does for a page.
async fn send(method: Method, url: &str, headers: &[(&str, &str)], body: &str) -> (StatusCode, String) {
    let request = Client::new().request(method, url);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = if body.is_empty() { request } else { request.body(body.to_owned()) };
    let answer = request.send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

fn create(name: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "default" });
    json!({ "verb": "create", "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_changes_and_reads_nothing() {
    let stage = Stage::set(1).await;
    let stack =
        Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], json!(stage.accounts())).await;
    let account = stage.fleet.clusters[0].name();
    stack.synced(account).await;
    let hub = stack.hub.url();
    let operations = format!("{hub}/v1/accounts/{account}/operations");
    let own = hub.clone();
    let json_type = ("content-type", "application/json");
    let charset = ("content-type", "application/json; charset=UTF-8");
    let text = ("content-type", "text/plain;charset=UTF-8");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let evil = ("origin", "http://evil.test");
    let rebound = ("host", "evil.test:7002");
    for (name, headers, status, words) in [
        ("text", vec![text], 415, "application/json"),
        ("form", vec![form], 415, "application/json"),
        ("untyped", vec![], 415, "application/json"),
        ("foreign", vec![json_type, evil], 403, "Origin"),
        ("sandboxed", vec![json_type, ("origin", "null")], 403, "Origin"),
        ("rebound", vec![json_type, rebound], 403, "Host"),
        ("own-page", vec![json_type, ("origin", own.as_str())], 201, ""),
        ("orca", vec![charset], 201, ""),
    ] {
        let (answered, says) = send(Method::POST, &operations, &headers, &create(name).to_string()).await;
        assert_eq!(answered.as_u16(), status, "{name}: {says}");
        assert!(says.contains(words), "{name}: {says}");
    }
    let objects = stage.fleet.clusters[0].list("", "configmaps", Some("default"));
    let names: Vec<Value> = objects
        .iter()
        .map(|object| serde_json::to_value(object).unwrap()["metadata"]["name"].clone())
        .collect();
    for (name, expected) in [("text", false), ("foreign", false), ("rebound", false), ("orca", true)] {
        assert_eq!(names.contains(&json!(name)), expected, "{name} of {names:?}");
    }

    // Spinnaker's route answers as Spring does; reads and requests without a body are checked too.
    let ops = format!("{hub}/kubernetes/ops");
    let (status, says) = send(Method::POST, &ops, &[text], "[]").await;
    let problem: Value = serde_json::from_str(&says).unwrap();
    assert_eq!((status.as_u16(), &problem["title"]), (415, &json!("Unsupported Media Type")), "{says}");
    let agent = format!("http://127.0.0.1:{}", stack.agent.port());
    let cluster = &stage.fleet.clusters[0];
    let playground = stage.fleet.playground.url(cluster.name());
    for (method, url) in [
        (Method::GET, format!("{hub}/v1/objects")),
        (Method::DELETE, format!("{hub}/v1/accounts/{account}")),
        (Method::GET, format!("{hub}/openapi.json")),
        (Method::GET, format!("{hub}/no/such/route")),
        (Method::GET, format!("{agent}/accounts")),
        (Method::PUT, format!("{agent}/logging/level")),
        (Method::GET, format!("{agent}/metrics")),
        (Method::GET, format!("{playground}/api/v1/configmaps")),
        (Method::POST, format!("{playground}/api/v1/namespaces/default/configmaps")),
    ] {
        for header in [evil, rebound] {
            let (status, says) = send(method.clone(), &url, &[header], "").await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {url} {header:?}: {says}");
        }
    }
    let (status, says) = send(Method::GET, &format!("{hub}/v1/accounts"), &[], "").await;
    assert!(status.is_success() && says.contains(account), "nothing was deleted: {says}");
}

#[tokio::test(flavor = "multi_thread")]
async fn further_names_and_pages_are_configured() {
    let database = Database::sqlite().unwrap();
    let settings = [
        ("/server/allowedHosts", json!(["hub.example.com"])),
        ("/server/allowedOrigins", json!(["https://console.example.com"])),
    ];
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let url = format!("{}/v1/accounts", hub.url());
    for (headers, expected) in [
        (vec![(HOST.as_str(), "hub.example.com")], 200),
        (vec![("origin", "https://console.example.com")], 200),
        (vec![(HOST.as_str(), "other.example.com")], 403),
        (vec![("origin", "https://other.example.com")], 403),
    ] {
        let (status, says) = send(Method::GET, &url, &headers, "").await;
        assert_eq!(status.as_u16(), expected, "{headers:?}: {says}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_that_are_open_to_all_are_named_at_start_and_rest_is_not_by_default() {
    let directory = scratch("open").unwrap();
    let database = directory.path().join("hub.db");
    let start = |server: &str| {
        let config = format!(
            "sql: {{ url: 'sqlite://{}?mode=rwc' }}\nkubesvc: {{ grpc: {{ server: {{ port: 0 }} }} }}\nserver: {{ {server} }}\n",
            database.display()
        );
        let file = directory.path().join("config.yml");
        std::fs::write(&file, config).unwrap();
        let arguments = ["--config", file.to_str().unwrap()];
        Daemon::spawn(binary("spindrift-hub").unwrap(), &arguments, &[("HOSTNAME", "hub-a")]).unwrap()
    };
    let warnings = |daemon: &Daemon| {
        let log = daemon.log();
        log.lines()
            .filter(|line| line.contains("listens on all addresses"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let hub = start("port: 0");
    hub.wait_for_log("hub started").await.unwrap();
    let warned = warnings(&hub);
    assert_eq!(warned.len(), 1, "{warned:?}");
    for setting in ["kubesvc.grpc.server.security.enabled", "clientAuth", "kubesvc.grpc.server.address"] {
        assert!(warned[0].contains(setting), "{warned:?}");
    }
    assert!(!warned[0].contains("REST"), "REST listens on loopback: {warned:?}");
    assert!(hub.log().contains("rest=\"127.0.0.1:"), "{}", hub.log());
    drop(hub);
    let hub = start("port: 0, host: ''");
    hub.wait_for_log("hub started").await.unwrap();
    let warned = warnings(&hub);
    assert!(
        warned.len() == 1 && warned[0].contains("REST on") && warned[0].contains("server.host"),
        "{warned:?}"
    );
}
