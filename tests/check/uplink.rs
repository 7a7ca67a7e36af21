//! Servers at the address that an agent dials that are not a hub with plaintext.

use jiff::SignedDuration;
use serde_json::{Value, json};
use spindrift_testkit::{FaultProxy, free_port};

use crate::{
    gateway::Gateway,
    support::{Page, dialling, hub, rest},
};

#[tokio::test]
async fn a_closed_port_is_distinguished_from_an_unknown_name() {
    let page = Page::of_agent(&dialling(([127, 0, 0, 1], free_port()).into(), json!({}))).await;
    page.wrong("hub", "dial", "refuses connections", "clouddriver.grpc");
    page.skipped("hub", &["tls", "http2", "grpc", "protocol", "clock"]);

    let settings =
        json!({ "clouddriver": { "grpc": "hub.invalid:9091" }, "server": { "port": free_port() } });
    let page = Page::of_agent(&settings).await;
    page.wrong("hub", "dns", "hub.invalid is not known", "clouddriver.grpc");
    page.skipped("hub", &["dial", "grpc"]);

    let settings = json!({ "clouddriver": { "grpc": "hub" }, "server": { "port": free_port() } });
    Page::of_agent(&settings).await.wrong("hub", "address", "expected host:port", "clouddriver.grpc");
}

#[tokio::test]
async fn the_rest_port_is_recognised() {
    let (_database, hub) = hub(&[]).await;
    let page = Page::of_agent(&dialling(rest(&hub), json!({}))).await;
    page.ok("hub", "http2", "");
    page.wrong("hub", "grpc", "this is the hub's REST port", "clouddriver.grpc");
    page.skipped("hub", &["protocol"]);
}

#[tokio::test]
async fn a_server_that_never_answers_is_no_hub() {
    let (_database, hub) = hub(&[]).await;
    let link = FaultProxy::start(hub.grpc()).await.unwrap();
    link.half_open();
    let page = Page::of_agent(&dialling(link.addr(), json!({}))).await;
    page.ok("hub", "dial", "takes connections");
    page.wrong("hub", "http2", "neither HTTP/2 nor HTTP/1 nor TLS", "clouddriver.grpc");
}

#[tokio::test]
async fn a_proxy_that_speaks_http1_only_is_found_in_plaintext() {
    let (_database, hub) = hub(&[]).await;
    let gateway = Gateway::http1_only(hub.grpc(), None).await;
    let page = Page::of_agent(&dialling(gateway.addr(), json!({}))).await;
    page.wrong("hub", "http2", "speaks HTTP/1 only, and so to the hub behind it", "pass HTTP/2 through");
    page.skipped("hub", &["grpc", "protocol", "clock"]);

    // Another HTTP/1 server cannot be distinguished from a proxy in front of a hub.
    let gateway = Gateway::http1_only(rest(&hub), None).await;
    let page = Page::of_agent(&dialling(gateway.addr(), json!({}))).await;
    page.wrong("hub", "http2", "speaks HTTP/1 only (it answers with 200)", "kubesvc.grpc.server.port");
}

#[tokio::test]
async fn a_clock_that_is_ten_minutes_off_is_found_in_both_directions() {
    let (_database, hub) = hub(&[]).await;
    for (minutes, direction) in [(10, "10 minutes ahead of"), (-11, "11 minutes behind")] {
        let gateway = Gateway::hub_with_clock(hub.grpc(), SignedDuration::from_mins(minutes)).await;
        let page = Page::of_agent(&dialling(gateway.addr(), json!({}))).await;
        page.ok("hub", "protocol", "speaks versions 1 to 1");
        page.wrong("hub", "clock", direction, "NTP");
    }
    let gateway = Gateway::hub_with_clock(hub.grpc(), SignedDuration::from_mins(3)).await;
    let page = Page::of_agent(&dialling(gateway.addr(), json!({}))).await;
    page.says("hub", "clock", "warn", "3 minutes ahead", "NTP");
}

#[tokio::test]
async fn a_check_leaves_no_session_behind() {
    let (_database, hub) = hub(&[]).await;
    let page = Page::of_agent(&dialling(hub.grpc(), json!({}))).await;
    page.ok("hub", "grpc", "is serving");
    page.ok("hub", "protocol", "the hub (0.1.0) speaks versions 1 to 1");
    assert_eq!(hub.get("/armory/agents").await.unwrap(), Value::Array(vec![]));
    let metrics = hub.text("/metrics").await.unwrap();
    assert!(metrics.contains("spindrift_hub_registrations_total 0\n"), "{metrics}");
}
