//! The files behind the hub's TLS.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use spindrift_testkit::{Certificates, Database, Identity};

use crate::support::{Page, hub_on};

const DAY: Duration = Duration::from_hours(24);

async fn page(security: Value) -> Page {
    let database = Database::sqlite().unwrap();
    let mut settings = hub_on(&database.url());
    settings["kubesvc"]["grpc"]["server"]["security"] = security;
    Page::of_hub(&settings).await
}

fn files(Identity { certificate, key }: &Identity) -> Value {
    json!({ "enabled": true, "certificateChain": certificate, "privateKey": key })
}

#[tokio::test]
async fn files_that_are_missing_or_do_not_belong_together_are_named() {
    let authority = Certificates::new().unwrap();
    let (one, other) = (authority.server("a").unwrap(), authority.server("b").unwrap());
    let missing = Identity { certificate: "/no/such/hub.pem".into(), key: one.key.clone() };
    let page_of_missing = page(files(&missing)).await;
    page_of_missing.wrong(
        "tls",
        "files",
        "kubesvc.grpc.server.security.certificateChain: read /no/such/hub.pem",
        "setting",
    );
    page_of_missing.skipped("tls", &["certificate", "clients"]);
    let mixed = Identity { certificate: one.certificate, key: other.key };
    page(files(&mixed)).await.wrong(
        "tls",
        "files",
        "kubesvc.grpc.server.security.privateKey",
        "belong together",
    );
}

#[tokio::test]
async fn expired_certificates_are_wrong_and_those_that_end_soon_are_a_warning() {
    let authority = Certificates::new().unwrap();
    let expired = authority.server_until("hub", SystemTime::now() - DAY * 2).unwrap();
    page(files(&expired)).await.wrong(
        "tls",
        "certificate",
        "(CN=hub) expired 2 days ago",
        "certificateChain",
    );
    let soon = authority.server_until("hub", SystemTime::now() + DAY * 13).unwrap();
    page(files(&soon)).await.says("tls", "certificate", "warn", "expires in 12 days", "certificateChain");
    let later = authority.server_until("hub", SystemTime::now() + DAY * 20).unwrap();
    let page = page(files(&later)).await;
    page.ok("tls", "certificate", "valid for 19 days");
    page.all_well();
}

#[tokio::test]
async fn client_authentication_without_an_authority_of_ones_own_is_a_warning() {
    let authority = Certificates::new().unwrap();
    let mut security = files(&authority.server("hub").unwrap());
    security["clientAuth"] = json!("REQUIRE");
    security["trustCertCollection"] = json!(authority.authority());
    page(security.clone()).await.ok("tls", "clients", "CN=spindrift test authority");
    security["trustCertCollection"] = json!("/no/such/ca.pem");
    page(security).await.wrong("tls", "files", "trustCertCollection", "setting");
}

#[tokio::test]
async fn filters_that_match_no_agent_are_found() {
    let database = Database::sqlite().unwrap();
    let mut settings = hub_on(&database.url());
    settings["kubesvc"]["grpc"]["auth"] = json!({ "x509": { "enabled": true, "filters": ["CN=a"] } });
    let page = Page::of_hub(&settings).await;
    page.wrong("tls", "filters", "none will be let in", "clientAuth: REQUIRE");
    settings["kubesvc"]["grpc"]["auth"]["x509"]["filters"] = json!(["("]);
    let page = Page::of_hub(&settings).await;
    page.wrong("tls", "filters", "unclosed group", "kubesvc.grpc.auth.x509.filters");
}

#[tokio::test]
async fn a_chain_out_of_order_is_a_warning() {
    let authority = Certificates::new().unwrap();
    let (hub, other) = (authority.server("hub").unwrap(), authority.server("other").unwrap());
    let certificates: Vec<_> = [&hub.certificate, &other.certificate]
        .map(|file| std::fs::read_to_string(file).unwrap())
        .into_iter()
        .collect();
    let directory = spindrift_testkit::scratch("chain").unwrap();
    let chain = directory.path().join("chain.pem");
    std::fs::write(&chain, certificates.concat()).unwrap();
    let page = page(files(&Identity { certificate: chain, key: hub.key })).await;
    page.says(
        "tls",
        "chain",
        "warn",
        "CN=hub is signed by CN=spindrift test authority, but CN=other follows",
        "order",
    );
}
