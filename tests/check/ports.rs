//! Ports that are taken: by a stranger, or by the daemon that runs.

use serde_json::{Value, json};
use spindrift_testkit::{Certificates, Daemon, Database, HubProcess, Identity, binary, free_port, scratch};

use crate::support::{Page, dialling, hub, hub_on, rest};

#[tokio::test]
async fn a_port_of_another_program_is_distinguished_from_that_of_a_hub() {
    let database = Database::sqlite().unwrap();
    // Takes connections, by the kernel, and never answers.
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap().port();
    let mut settings = hub_on(&database.url());
    settings["server"]["port"] = json!(taken);
    let page = Page::of_hub(&settings).await;
    page.wrong("ports", "rest", &format!("port {taken} (REST) is taken"), "change server.port");
    page.ok("ports", "grpc", "is free");

    let (_other_database, running) = hub(&[]).await;
    let mut settings = hub_on(&database.url());
    settings["server"]["port"] = json!(rest(&running).port());
    settings["kubesvc"]["grpc"]["server"]["port"] = json!(running.grpc().port());
    let page = Page::of_hub(&settings).await;
    page.ok("ports", "rest", "a hub runs");
    page.ok("ports", "grpc", "a hub runs");
    page.all_well();

    // The two ports are not the same to a hub.
    settings["server"]["port"] = json!(running.grpc().port());
    settings["kubesvc"]["grpc"]["server"]["port"] = json!(rest(&running).port());
    let page = Page::of_hub(&settings).await;
    page.wrong("ports", "rest", "is taken by another server", "change server.port");

    let page = Page::of_agent(&dialling_with_port(&running, rest(&running).port())).await;
    page.wrong("endpoints", "health", "is taken by another process", "change server.port");
}

#[tokio::test]
async fn ports_of_the_agents_that_are_opened_on_demand_are_checked_too() {
    let (_database, hub) = hub(&[]).await;
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap().port();
    let mut settings = dialling(hub.grpc(), json!({}));
    let page = Page::of_agent(&settings).await;
    assert!(page.lines("endpoints", "debugging").is_empty(), "{}", page.text());
    settings["prometheus"] = json!({ "enabled": true, "port": free_port() });
    settings["pprof"] = json!({ "enabled": true, "port": taken });
    let page = Page::of_agent(&settings).await;
    page.ok("endpoints", "metrics", "is free");
    page.wrong("endpoints", "debugging", &format!("port {taken} (debugging) is taken"), "change pprof.port");
}

fn dialling_with_port(hub: &HubProcess, port: u16) -> Value {
    let mut settings = dialling(hub.grpc(), json!({}));
    settings["server"]["port"] = json!(port);
    settings
}

#[tokio::test]
async fn a_hub_that_runs_with_other_tls_settings_is_a_warning() {
    let authority = Certificates::new().unwrap();
    let Identity { certificate, key } = authority.server("hub").unwrap();
    let security = json!({ "enabled": true, "certificateChain": certificate, "privateKey": key });
    let (_database, plain) = hub(&[]).await;
    let (_other_database, secured) = hub(&[("/kubesvc/grpc/server/security", security.clone())]).await;
    let database = Database::sqlite().unwrap();
    let mut settings = hub_on(&database.url());
    settings["kubesvc"]["grpc"]["server"]["port"] = json!(secured.grpc().port());
    let page = Page::of_hub(&settings).await;
    page.says("ports", "grpc", "warn", "speaks TLS, and plaintext is configured", "restart the hub");
    settings["kubesvc"]["grpc"]["server"]["security"] = security;
    Page::of_hub(&settings).await.ok("ports", "grpc", "a hub runs");
    settings["kubesvc"]["grpc"]["server"]["port"] = json!(plain.grpc().port());
    let page = Page::of_hub(&settings).await;
    page.says("ports", "grpc", "warn", "speaks plaintext, and TLS is configured", "restart the hub");
}

#[tokio::test]
async fn a_hub_that_is_not_ready_reports_the_missing_part() {
    let database = Database::sqlite().unwrap();
    drop(HubProcess::start("hub-a", &database, &[]).await.unwrap());
    let refusal = "CREATE TRIGGER no_hub BEFORE INSERT ON spindrift_hub BEGIN SELECT RAISE(FAIL, 'no'); END";
    database.execute("DELETE FROM spindrift_hub").await.unwrap();
    database.execute(refusal).await.unwrap();
    let settings = hub_on(&database.url());
    let directory = scratch("unready").unwrap();
    let file = directory.path().join("hub.yml");
    std::fs::write(&file, settings.to_string()).unwrap();
    let arguments = ["--config", file.to_str().unwrap()];
    let hub = Daemon::spawn(binary("spindrift-hub").unwrap(), &arguments, &[("HOSTNAME", "hub-b")]).unwrap();
    hub.wait_for_log("the store accepts no writes").await.unwrap();
    let page = Page::of_hub(&settings).await;
    page.says("ports", "rest", "warn", "but is DOWN: it waits for the first heartbeat", "see its log");
}
