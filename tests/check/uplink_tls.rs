//! TLS between agent and hub: which side uses it, certificates, expiry.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use spindrift_testkit::{Certificates, Identity};

use crate::{
    gateway::Gateway,
    support::{Page, dialling, hub},
};

const SECURITY: &str = "/kubesvc/grpc/server/security";

fn security(Identity { certificate, key }: &Identity) -> Value {
    json!({ "enabled": true, "certificateChain": certificate, "privateKey": key })
}

/// The settings of a hub that asks agents for certificates of this authority.
fn mutual(authority: &Certificates) -> Value {
    let mut security = security(&authority.server("hub.example.com").unwrap());
    security["clientAuth"] = json!("REQUIRE");
    security["trustCertCollection"] = json!(authority.authority());
    security
}

fn trusting(authority: &Certificates) -> Value {
    json!({ "insecure": false, "tls": { "cacertFile": authority.authority() } })
}

fn showing(authority: &Certificates, Identity { certificate, key }: &Identity) -> Value {
    let tls =
        json!({ "cacertFile": authority.authority(), "clientCertFile": certificate, "clientKeyFile": key });
    json!({ "tls": tls })
}

#[tokio::test]
async fn tls_is_all_well_with_the_right_files() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&[(SECURITY, mutual(&authority))]).await;
    let agent = showing(&authority, &authority.client("agent-a").unwrap());
    let page = Page::of_agent(&dialling(hub.grpc(), agent)).await;
    page.ok("hub", "tls", "TLS 1.3");
    page.ok("hub", "certificate", "the hub's certificate (CN=hub.example.com) is valid");
    page.ok("hub", "identity", "the agent's certificate (CN=agent-a) is valid");
    page.ok("hub", "http2", "ALPN");
    page.ok("hub", "protocol", "versions 1 to 1");
    page.ok("hub", "clock", "");
}

#[tokio::test]
async fn a_tls_agent_at_a_plaintext_hub_gets_the_setting() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&[]).await;
    let page = Page::of_agent(&dialling(hub.grpc(), trusting(&authority))).await;
    page.wrong("hub", "tls", "speaks plaintext, and TLS is configured", "clouddriver.insecure: true");
    page.skipped("hub", &["certificate", "identity", "http2", "grpc", "protocol", "clock"]);
}

#[tokio::test]
async fn a_plaintext_agent_at_a_tls_hub_gets_the_setting() {
    let authority = Certificates::new().unwrap();
    let identity = authority.server("hub.example.com").unwrap();
    let (_database, hub) = hub(&[(SECURITY, security(&identity))]).await;
    let page = Page::of_agent(&dialling(hub.grpc(), json!({}))).await;
    page.wrong("hub", "tls", "requires TLS", "clouddriver.insecure: false");
    page.skipped("hub", &["http2", "grpc", "protocol", "clock"]);
}

#[tokio::test]
async fn a_foreign_authority_and_a_wrong_name_are_distinguished() {
    let (authority, foreign) = (Certificates::new().unwrap(), Certificates::new().unwrap());
    let identity = authority.server("hub.example.com").unwrap();
    let (_database, hub) = hub(&[(SECURITY, security(&identity))]).await;
    let page = Page::of_agent(&dialling(hub.grpc(), trusting(&foreign))).await;
    page.ok("hub", "tls", "TLS 1.3");
    page.wrong(
        "hub",
        "certificate",
        "who is not in clouddriver.tls.cacertFile",
        "clouddriver.tls.cacertFile",
    );

    let mut misnamed = trusting(&authority);
    misnamed["tls"]["serverName"] = json!("other.example.com");
    let page = Page::of_agent(&dialling(hub.grpc(), misnamed)).await;
    page.wrong(
        "hub",
        "certificate",
        "is for hub.example.com, localhost, 127.0.0.1, not for other.example.com",
        "clouddriver.tls.serverName",
    );
}

#[tokio::test]
async fn an_expired_certificate_of_the_hub_is_found_and_one_that_ends_soon() {
    const DAY: Duration = Duration::from_hours(24);
    let authority = Certificates::new().unwrap();
    let ended = SystemTime::now() - DAY * 3 - DAY / 2;
    let identity = authority.server_until("hub.example.com", ended).unwrap();
    let (_database, expired) = hub(&[(SECURITY, security(&identity))]).await;
    let page = Page::of_agent(&dialling(expired.grpc(), trusting(&authority))).await;
    page.wrong("hub", "certificate", "(CN=hub.example.com) expired 3 days ago", "certificateChain");

    let soon = SystemTime::now() + DAY * 5 + DAY / 2;
    let identity = authority.server_until("hub.example.com", soon).unwrap();
    let (_database, hub) = hub(&[(SECURITY, security(&identity))]).await;
    let page = Page::of_agent(&dialling(hub.grpc(), trusting(&authority))).await;
    page.says("hub", "certificate", "warn", "expires in 5 days", "certificateChain");
    page.ok("hub", "protocol", "");
}

#[tokio::test]
async fn a_hub_with_mtls_names_the_missing_settings() {
    let (authority, foreign) = (Certificates::new().unwrap(), Certificates::new().unwrap());
    let filters = json!({ "enabled": true, "filters": ["^CN=fleet-"] });
    let settings = [(SECURITY, mutual(&authority)), ("/kubesvc/grpc/auth/x509", filters)];
    let (_database, hub) = hub(&settings).await;
    let page = Page::of_agent(&dialling(hub.grpc(), trusting(&authority))).await;
    page.wrong("hub", "identity", "requires a certificate of the agent", "clouddriver.tls.clientCertFile");
    page.skipped("hub", &["http2", "grpc", "protocol", "clock"]);

    let agent = showing(&authority, &foreign.client("fleet-1").unwrap());
    let page = Page::of_agent(&dialling(hub.grpc(), agent)).await;
    page.wrong(
        "hub",
        "identity",
        "does not accept the agent's certificate (CN=fleet-1",
        "trustCertCollection",
    );

    let ended = SystemTime::now() - Duration::from_hours(25);
    let agent = showing(&authority, &authority.client_until("fleet-1", ended).unwrap());
    let page = Page::of_agent(&dialling(hub.grpc(), agent)).await;
    page.wrong("hub", "identity", "(CN=fleet-1) expired 1 day ago", "clouddriver.tls.clientCertFile");

    let agent = showing(&authority, &authority.client("stranger").unwrap());
    let page = Page::of_agent(&dialling(hub.grpc(), agent)).await;
    page.ok("hub", "identity", "CN=stranger");
    page.wrong("hub", "protocol", "CN=stranger", "kubesvc.grpc.auth.x509.filters");
}

#[tokio::test]
async fn a_proxy_that_answers_h2_with_http1_is_found() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&[]).await;
    let identity = authority.server("gateway.example.com").unwrap();
    let gateway = Gateway::http1_only(hub.grpc(), Some(&identity)).await;
    let page = Page::of_agent(&dialling(gateway.addr(), trusting(&authority))).await;
    page.ok("hub", "tls", "TLS 1.3");
    page.ok("hub", "certificate", "CN=gateway.example.com");
    page.wrong("hub", "http2", "speaks HTTP/1 only", "pass HTTP/2 through");
    page.skipped("hub", &["identity", "grpc", "protocol", "clock"]);
}

#[tokio::test]
async fn tls_files_of_the_agent_that_cannot_be_used_are_named() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&[]).await;
    let tls = json!({ "tls": { "cacertFile": "/no/such/ca.pem" } });
    let page = Page::of_agent(&dialling(hub.grpc(), tls)).await;
    page.wrong("hub", "tls", "clouddriver.tls.cacertFile: read /no/such/ca.pem", "setting");

    let (one, other) = (authority.client("a").unwrap(), authority.client("b").unwrap());
    let mixed = Identity { certificate: one.certificate, key: other.key };
    let page = Page::of_agent(&dialling(hub.grpc(), showing(&authority, &mixed))).await;
    page.wrong("hub", "tls", "clouddriver.tls.clientKeyFile", "setting");
}
