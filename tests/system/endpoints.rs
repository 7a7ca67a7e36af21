//! The agent's own endpoints.

use std::fs;

use reqwest::{Certificate, Client, Identity, StatusCode};
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Certificates, Cluster, Database, eventually, free_port};

use crate::support::{LONG, Stack, account};

#[tokio::test(flavor = "multi_thread")]
async fn operators_see_accounts_filtered_and_paged_versions_tasks_and_metrics() {
    let cluster = Cluster::shared().await.unwrap();
    let accounts = json!([account("good", cluster), { "name": "bad" }, account("other", cluster)]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    stack.synced("good").await;
    stack.synced("other").await;
    let names = async |query: &str| {
        let accounts = stack.agent.get(&format!("/accounts?{query}")).await.unwrap();
        let names = accounts.as_array().unwrap().iter().map(|line| line["Config"]["Name"].clone());
        names.collect::<Value>()
    };
    assert_eq!(names("").await, json!(["bad", "good", "other"]));
    assert_eq!(names("State.Name=Healthy").await, json!(["good", "other"]));
    assert_eq!(names("State.Name=DiscoveryError&Config.Dynamic=false").await, json!(["bad"]));
    assert_eq!(names("limit=1&offtset=1").await, json!(["good"]));

    let get = async |path: &str| {
        let answer = reqwest::get(format!("http://127.0.0.1:{}{path}", stack.agent.port())).await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    for (path, status, says) in [
        ("/accounts?limit=many", StatusCode::BAD_REQUEST, "limit: expected a number"),
        ("/accounts?colour=red", StatusCode::BAD_REQUEST, "unknown parameter colour"),
        ("/accounts/bad/version", StatusCode::NOT_FOUND, "account bad is not discovered"),
        ("/accounts/good/version", StatusCode::OK, "v1."),
        ("/version", StatusCode::OK, env!("CARGO_PKG_VERSION")),
        ("/operations", StatusCode::OK, "[]"),
        ("/debug/pprof/goroutine?debug=1", StatusCode::NOT_IMPLEMENTED, "/debug/tasks"),
        ("/debug/tasks", StatusCode::OK, "\"uplink\""),
        ("/health", StatusCode::OK, "\"hub\":\"connected\""),
        ("/metrics", StatusCode::OK, "\nkubesvc_connection_count 1\n"),
        ("/prometheus_metrics", StatusCode::OK, "\nkubesvc_watches 2\n"),
        ("/metrics", StatusCode::OK, "kubesvc_events_sent_total{event_kind=\"ConfigMap\""),
    ] {
        let (answered, body) = get(path).await;
        assert!(answered == status && body.contains(says), "{path}: {answered} {body}");
    }
    assert!(get("/debug/tasks").await.1.contains("account bad/preparation"), "it is still tried");
    let log = stack.agent.daemon().log();
    let told = log.lines().find(|line| line.contains("Account discovery result received: account=good, "));
    assert!(told.is_some_and(|line| line.contains(", kinds=1, errors=0\"")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoints_use_tls_and_require_certificates_if_configured() {
    let authority = Certificates::new().unwrap();
    let server = authority.server("agent.example.com").unwrap();
    let client = authority.client("probe").unwrap();
    let metrics = free_port();
    let agent = AgentProcess::with_settings(
        "agent-a",
        json!({
            "server": { "ssl": {
                "enabled": true, "certFile": server.certificate, "keyFile": server.key,
                "caCertFile": authority.authority(), "clientAuth": "need",
            } },
            "prometheus": { "enabled": true, "port": metrics },
        }),
    )
    .unwrap();
    let url = format!("https://127.0.0.1:{}/health", agent.port());
    let root = Certificate::from_pem(&fs::read(authority.authority()).unwrap()).unwrap();
    let trusting = || Client::builder().tls_certs_only([root.clone()]);
    let mut pem = fs::read(&client.certificate).unwrap();
    pem.extend(fs::read(&client.key).unwrap());
    let known = trusting().identity(Identity::from_pem(&pem).unwrap()).build().unwrap();
    let health: Value =
        eventually!("the agent answers", LONG, known.get(&url).send().await).json().await.unwrap();
    assert_eq!(health["status"], "UP");

    assert!(trusting().build().unwrap().get(&url).send().await.is_err(), "a certificate is needed");
    let plain = reqwest::get(url.replace("https", "http")).await.unwrap();
    assert_eq!(plain.status(), StatusCode::BAD_REQUEST);
    assert!(plain.text().await.unwrap().contains("server.ssl.enabled"));
    let page =
        reqwest::get(format!("http://127.0.0.1:{metrics}/metrics")).await.unwrap().text().await.unwrap();
    assert!(page.contains("process_resident_memory_bytes"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_listed_while_they_run() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("running").await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let metadata = json!({ "name": "held", "namespace": namespace, "finalizers": ["example.com/held"] });
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    cluster.kubectl_stdin(&["create", "-f", "-"], &held.to_string()).await.unwrap();
    let delete = json!({ "verb": "delete", "kind": "cm", "namespace": namespace, "name": "held" });
    let url = format!("{}/v1/accounts/main/operations?async=true", stack.hub.url());
    let asked: Value = Client::new().post(url).json(&delete).send().await.unwrap().json().await.unwrap();
    let running = eventually!("it is listed", LONG, {
        let running = stack.agent.get("/operations").await.unwrap();
        (running != json!([])).then_some(running)
    });
    let mut line = running[0].clone();
    let since = line.as_object_mut().unwrap().remove("since");
    assert!(since.is_some_and(|since| since.as_str().is_some_and(|text| text.ends_with('Z'))), "{running}");
    let expected = json!({
        "operationId": asked["id"], "operationType": "delete", "account": "main", "kind": "cm",
        "namespace": namespace, "name": "held",
    });
    assert_eq!((running.as_array().unwrap().len(), line), (1, expected));
    let free = r#"{"metadata":{"finalizers":null}}"#;
    cluster
        .kubectl(&["-n", &namespace, "patch", "configmap", "held", "--type=merge", "-p", free])
        .await
        .unwrap();
    eventually!("it has ended", LONG, stack.agent.get("/operations").await.unwrap() == json!([]));
}
