//! A client with the wrong protocol gets one clear sentence, and so does the log.

use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};
use spindrift_process::tls::{ClientTls, ClientTlsFiles};
use spindrift_testkit::{
    AgentProcess, Certificates, Cluster, Daemon, Database, HubProcess, Identity, PATIENCE, binary, scratch,
};
use tokio::net::TcpStream;

use crate::support::account;

async fn hub(settings: &[(&str, Value)]) -> (Database, HubProcess) {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, settings).await.unwrap();
    (database, hub)
}

/// Settings of a gRPC port with TLS.
fn secured(authority: &Certificates) -> (&'static str, Value) {
    let Identity { certificate, key } = authority.server("hub.example.com").unwrap();
    let security = json!({ "enabled": true, "certificateChain": certificate, "privateKey": key });
    ("/kubesvc/grpc/server/security", security)
}

/// An agent that dials an address in its own way.
async fn agent(address: SocketAddr, mut clouddriver: Value) -> AgentProcess {
    let cluster = Cluster::shared().await.unwrap();
    clouddriver["grpc"] = json!(address.to_string());
    let accounts = json!([account("main", cluster)]);
    let settings = json!({ "clouddriver": clouddriver, "kubernetes": { "accounts": accounts } });
    AgentProcess::with_settings("agent-a", settings).unwrap()
}

/// Tries a handshake as a client that trusts everyone.
async fn speak_tls(address: SocketAddr) -> std::io::Result<()> {
    let files = ClientTlsFiles { insecure_skip_verify: true, ..ClientTlsFiles::default() };
    let tls = ClientTls::open(files).unwrap();
    tls.connect("localhost", TcpStream::connect(address).await?).await.map(drop)
}

/// Number of warnings with these words.
fn warnings(daemon: &Daemon, words: &str) -> usize {
    daemon.log().lines().filter(|line| line.contains("level=warning") && line.contains(words)).count()
}

#[tokio::test]
async fn http1_to_the_grpc_port_gets_the_right_address() {
    let (_database, hub) = hub(&[]).await;
    let sentence = "the gRPC port (kubesvc.grpc.server.port) speaks HTTP/2 only but the peer speaks HTTP/1; \
                    let proxies in between pass HTTP/2 through, and send other requests to the REST port";
    for _ in 0..2 {
        let answer = reqwest::get(format!("http://{}/v1/accounts", hub.grpc())).await.unwrap();
        assert_eq!(answer.status(), 400);
        assert_eq!(answer.text().await.unwrap(), format!("{sentence}\n"));
    }
    hub.daemon().wait_for_log(sentence).await.unwrap();
    assert_eq!(warnings(hub.daemon(), sentence), 1, "once is enough");
}

#[tokio::test]
async fn tls_to_the_plaintext_grpc_port_names_the_settings_of_both_sides() {
    let (_database, hub) = hub(&[]).await;
    speak_tls(hub.grpc()).await.expect_err("there is no TLS");
    let sentence = "the gRPC port (kubesvc.grpc.server.port) serves plaintext but the peer speaks TLS; \
                    set clouddriver.insecure: true in the agent or \
                    kubesvc.grpc.server.security.enabled: true in the hub";
    hub.daemon().wait_for_log(sentence).await.unwrap();
    assert_eq!(warnings(hub.daemon(), sentence), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_speaks_tls_to_a_plaintext_hub_names_its_setting() {
    let (_database, hub) = hub(&[]).await;
    let tls = json!({ "insecureSkipVerify": true });
    let agent = agent(hub.grpc(), json!({ "insecure": false, "tls": tls })).await;
    agent.daemon().wait_for_log("set clouddriver.insecure: true").await.unwrap();
    hub.daemon().wait_for_log("serves plaintext but the peer speaks TLS").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_speaks_plaintext_to_a_tls_hub_names_its_setting() {
    let (_database, hub) = hub(&[secured(&Certificates::new().unwrap())]).await;
    let agent = agent(hub.grpc(), json!({})).await;
    agent.daemon().wait_for_log("set clouddriver.insecure: false").await.unwrap();
    hub.daemon().wait_for_log("requires TLS but the peer speaks plaintext").await.unwrap();
}

#[tokio::test]
async fn tls_to_the_rest_port_names_its_setting() {
    let (_database, hub) = hub(&[]).await;
    let address = hub.url().trim_start_matches("http://").parse().unwrap();
    speak_tls(address).await.expect_err("there is no TLS");
    let sentence = "the REST port (server.port) serves plaintext but the peer speaks TLS; use http://";
    hub.daemon().wait_for_log(sentence).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dials_the_rest_port_gets_the_right_one() {
    let (_database, hub) = hub(&[]).await;
    let address = hub.url().trim_start_matches("http://").parse().unwrap();
    let agent = agent(address, json!({})).await;
    let sentence =
        "this is the hub's REST port; set clouddriver.grpc to its gRPC port (kubesvc.grpc.server.port";
    agent.daemon().wait_for_log(sentence).await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_one_line_and_an_exit_code() {
    let occupier = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = occupier.local_addr().unwrap().port();
    let directory = scratch("taken").unwrap();
    let database = format!("sqlite://{}?mode=rwc", directory.path().join("hub.db").display());
    let config = directory.path().join("config.yml");
    for (program, name, setting, settings) in [
        (
            "spindrift-hub",
            "gRPC",
            "kubesvc.grpc.server.port",
            json!({
                "kubesvc": { "grpc": { "server": { "address": "127.0.0.1", "port": taken } } },
                "server": { "host": "127.0.0.1", "port": 0 },
                "sql": { "url": database },
            }),
        ),
        (
            "spindrift-hub",
            "REST",
            "server.port",
            json!({
                "kubesvc": { "grpc": { "server": { "address": "127.0.0.1", "port": 0 } } },
                "server": { "host": "127.0.0.1", "port": taken },
                "sql": { "url": database },
            }),
        ),
        (
            "spindrift-agent",
            "health",
            "server.port",
            json!({ "server": { "host": "127.0.0.1", "port": taken } }),
        ),
    ] {
        std::fs::write(&config, settings.to_string()).unwrap();
        let args = ["--config", config.to_str().unwrap()];
        let daemon = Daemon::spawn(binary(program).unwrap(), &args, &[("HOSTNAME", "here")]).unwrap();
        let status = daemon.exit(PATIENCE).await.unwrap();
        assert_eq!(status.code(), Some(1), "{program}");
        let log = daemon.log();
        let lines: Vec<_> = log.lines().filter(|line| line.starts_with(&format!("{program}: "))).collect();
        let sentence = format!(
            "{program}: port {taken} ({name}) is taken by another process; stop it or change {setting}"
        );
        assert!(matches!(lines[..], [line] if line.starts_with(&sentence)), "{log}");
    }
}
