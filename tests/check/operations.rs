//! The key that encrypts operations at rest.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};
use spindrift_testkit::{Database, scratch};

use crate::support::{KEY, Page, hub_on};

fn with(url: &str, encryption: Value) -> Value {
    let mut settings = hub_on(url);
    settings["kubesvc"]["operations"]["encryption"] = encryption;
    settings
}

#[tokio::test]
async fn a_key_is_looked_at_wherever_it_comes_from_and_never_made() {
    let directory = scratch("keys").unwrap();
    let url = format!("sqlite://{}", directory.path().join("hub.db").display());
    let page = Page::of_hub(&with(&url, json!({}))).await;
    page.ok("operations", "key", "hub.db.key will be created");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    let page = Page::of_hub(&with(&url, json!({ "key": "hush" }))).await;
    page.wrong("operations", "key", "kubesvc.operations.encryption.key: expected 32 bytes", "openssl rand");
    assert!(!page.text().contains("hush"), "{}", page.text());

    let file = directory.path().join("key");
    let named = || with(&url, json!({ "keyFile": file }));
    Page::of_hub(&named()).await.wrong("operations", "key", "keyFile: read", "openssl rand");
    fs::write(&file, KEY).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let page = Page::of_hub(&named()).await;
    page.says("operations", "key", "warn", "can be read by every user", "chmod o-rwx");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    Page::of_hub(&named()).await.ok("operations", "key", "is readable");
}

#[tokio::test]
async fn hubs_that_may_share_a_database_are_warned_without_a_shared_key() {
    let database = Database::postgres().await.unwrap();
    let page = Page::of_hub(&with(&database.url(), json!({}))).await;
    page.says("operations", "key", "warn", "none is configured", "the same for all hubs");
    Page::of_hub(&hub_on(&database.url())).await.ok("operations", "key", "is configured");
}
