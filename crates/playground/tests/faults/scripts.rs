//! Faults by a script.

use std::{net::SocketAddr, time::Duration};

use spindrift_playground::{
    Script, Timing,
    fleet::{self, Content, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::eventually;

async fn code(address: SocketAddr, cluster: &str) -> Option<u16> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build().unwrap();
    let answer = client.get(format!("http://{address}/clusters/{cluster}/version")).send().await.ok()?;
    Some(answer.status().as_u16())
}

#[tokio::test]
async fn a_script_hits_the_clusters_it_names_for_as_long_as_it_says() {
    spindrift_process::tls::install_provider();
    let script = "
steps:
  - clusters: [eu-*]
    for: 500ms
    every: 1s
    fault: {status: {code: 503}}
  - at: 300ms
    clusters: [us-east]
    fault: cut
";
    let shutdown = Shutdown::new();
    let options = FleetOptions {
        content: Content::Empty { timing: Timing::FAST },
        faults: Some(Script::parse(script).unwrap()),
        ..FleetOptions::shops(3)
    };
    let fleet = fleet::start(options, &shutdown).await.unwrap();
    eventually!("the first step", code(fleet.address(), "eu-west").await == Some(503));
    eventually!("its end", code(fleet.address(), "eu-west").await == Some(200));
    eventually!("the second step", code(fleet.address(), "us-east").await.is_none());
    assert_eq!(code(fleet.address(), "asia-south").await, Some(200));
    shutdown.trigger();
    shutdown.wait(Duration::from_secs(5)).await.unwrap();
}
