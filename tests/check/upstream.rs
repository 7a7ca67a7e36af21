//! The Clouddriver behind a hub.

use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess, free_port};

use crate::support::{Page, hub_on};

fn before(url: &str) -> Value {
    let mut settings = hub_on(&Database::sqlite().unwrap().url());
    settings["upstream"]["url"] = url.into();
    settings
}

#[tokio::test]
async fn a_clouddriver_behind_the_hub_is_asked_who_it_is() {
    let database = Database::sqlite().unwrap();
    let upstream = HubProcess::start("clouddriver", &database, &[]).await.unwrap();
    let page = Page::of_hub(&before(&upstream.url())).await;
    page.ok("upstream", "settings", &upstream.url());
    page.ok("upstream", "health", "it answers, and is well");
    page.ok("upstream", "credentials", "it has 0 accounts");

    let page = Page::of_hub(&before(&format!("{}/elsewhere", upstream.url()))).await;
    page.says("upstream", "health", "warn", "404", "its log");
    page.wrong("upstream", "credentials", "404", "upstream.url");
    let page = Page::of_hub(&before(&format!("http://127.0.0.1:{}", free_port()))).await;
    page.wrong("upstream", "health", "the upstream Clouddriver does not answer", "upstream.url");
    page.skipped("upstream", &["credentials"]);
    let page = Page::of_hub(&before("clouddriver:7002")).await;
    page.wrong("upstream", "settings", "upstream.url: expected http://", "correct the setting");
    let page = Page::of_hub(&hub_on(&Database::sqlite().unwrap().url())).await;
    assert!(page.lines("upstream", "settings").is_empty(), "most hubs have none");
    assert_eq!(json!(page.lines("upstream", "health")), json!([]));
}
