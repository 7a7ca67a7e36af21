//! The hub's database: away, frozen, locked, read-only, newer.

use std::time::Duration;

use serde_json::json;
use spindrift_testkit::{Database, FaultProxy, HubProcess, free_port, scratch};

use crate::support::{Page, hub_on};

const REST: [&str; 7] = ["login", "server", "schema", "write", "latency", "clock", "connections"];

/// A URL with another user, password or port.
fn with(url: &str, user: &str, port: Option<u16>) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (_, place) = rest.split_once('@').unwrap();
    let (host, path) = place.split_once('/').unwrap();
    let (name, old) = host.rsplit_once(':').unwrap();
    let port = port.map_or(old.to_owned(), |port| port.to_string());
    format!("{scheme}://{user}@{name}:{port}/{path}")
}

#[tokio::test]
async fn an_unreachable_database_is_distinguished_from_a_silent_one() {
    let database = Database::postgres_dedicated().await.unwrap();
    Page::of_hub(&hub_on(&database.url())).await.all_well();

    database.freeze().unwrap();
    let page = Page::of_hub(&hub_on(&database.url())).await;
    page.ok("database", "dial", "takes connections");
    page.wrong("database", "login", "no answer within", "overloaded or stopped");
    database.thaw().unwrap();

    database.stop().await.unwrap();
    let page = Page::of_hub(&hub_on(&database.url())).await;
    page.wrong("database", "dial", "refuses connections", "sql.url");
    page.skipped("database", &REST);

    let page = Page::of_hub(&hub_on(&with(&database.url(), "postgres", Some(free_port())))).await;
    page.wrong("database", "dial", "nothing listens on that port", "correct the port in sql.url");
}

#[tokio::test]
async fn an_invalid_url_is_reported_without_its_password() {
    for url in ["oracle://hub:hush@db/hub", "postgres://hub:hush@[db/hub"] {
        let page = Page::of_hub(&hub_on(url)).await;
        page.wrong("database", "url", "", "postgres://user:password@host/name");
        page.skipped("database", &REST);
        assert!(!page.text().contains("hush"), "{}", page.text());
    }
    Page::of_hub(&hub_on("mysql://hub:hush@db.invalid/hub")).await.wrong(
        "database",
        "dns",
        "db.invalid",
        "sql.url",
    );
}

#[tokio::test]
async fn a_wrong_password_a_wrong_user_and_a_wrong_name_are_distinguished() {
    let mariadb = Database::mariadb().await.unwrap();
    mariadb.execute("CREATE USER 'hub'@'127.0.0.1' IDENTIFIED BY 'right'").await.unwrap();
    let page = Page::of_hub(&hub_on(&with(&mariadb.url(), "hub:hush", None))).await;
    page.wrong("database", "login", "Access denied", "user and password in sql.url");
    page.skipped("database", &["schema", "write"]);
    assert!(!page.text().contains("hush"), "{}", page.text());
    page.ok("database", "url", "mysql://hub:…@");

    let postgres = Database::postgres().await.unwrap();
    let page = Page::of_hub(&hub_on(&with(&postgres.url(), "stranger", None))).await;
    page.wrong("database", "login", "stranger", "user and password in sql.url");
    let (place, _) = postgres.url().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let page = Page::of_hub(&hub_on(&format!("{place}/nowhere"))).await;
    page.wrong("database", "login", "nowhere", "create the database");
}

#[tokio::test]
async fn a_user_who_may_not_write_is_found_before_and_after_the_first_start() {
    let postgres = Database::postgres().await.unwrap();
    let role = format!("reader_{}", std::process::id());
    postgres.execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let url = with(&postgres.url(), &role, None);
    let page = Page::of_hub(&hub_on(&url)).await;
    page.ok("database", "schema", "is empty");
    page.wrong("database", "write", "create a table: ", "let the user of sql.url");

    drop(HubProcess::start("hub-a", &postgres, &[]).await.unwrap());
    postgres.execute(&format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")).await.unwrap();
    let page = Page::of_hub(&hub_on(&url)).await;
    page.ok("database", "schema", ", as this hub has it");
    page.wrong("database", "write", "insert a row: ", "let the user of sql.url");
}

#[tokio::test]
async fn every_database_is_well_before_and_after_the_first_start_and_stays_unchanged() {
    for database in Database::all().await.unwrap() {
        let before = Page::of_hub(&hub_on(&database.url())).await;
        before.all_well();
        drop(HubProcess::start("hub-a", &database, &[]).await.unwrap());
        let after = Page::of_hub(&hub_on(&database.url())).await;
        after.all_well();
        after.ok("database", "schema", ", as this hub has it");
        after.ok("database", "write", "is allowed");
        database.execute("SELECT * FROM spindrift_check").await.expect_err("no table was left behind");
        let row = "INSERT INTO spindrift_migration (version, applied_at) VALUES (0, 0)";
        database.execute(row).await.expect("no row was left behind");
    }
}

#[tokio::test]
async fn a_schema_of_a_newer_release_is_a_warning() {
    let database = Database::sqlite().unwrap();
    drop(HubProcess::start("hub-a", &database, &[]).await.unwrap());
    database.execute("INSERT INTO spindrift_migration (version, applied_at) VALUES (99, 1)").await.unwrap();
    let page = Page::of_hub(&hub_on(&database.url())).await;
    page.says("database", "schema", "warn", "version 99 is newer than this hub, who knows", "upgrade");
}

#[tokio::test]
async fn a_file_that_cannot_be_created_is_found_and_one_that_can_is_not_created() {
    let directory = scratch("files").unwrap();
    let file = directory.path().join("hub.db");
    let page = Page::of_hub(&hub_on(&format!("sqlite://{}", file.display()))).await;
    page.all_well();
    page.ok("database", "file", "will be created");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let page = Page::of_hub(&hub_on("sqlite:///no/such/directory/hub.db")).await;
    page.wrong("database", "file", "cannot be created", "create the directory /no/such/directory");
}

#[tokio::test]
async fn a_pool_that_the_server_cannot_serve_is_found() {
    let postgres = Database::postgres().await.unwrap();
    let mut settings = hub_on(&postgres.url());
    settings["sql"]["readers"] = json!(500);
    let page = Page::of_hub(&settings).await;
    page.wrong("database", "connections", "wants 502 connections, the server takes 200", "sql.readers");
    settings["sql"]["readers"] = json!(150);
    let page = Page::of_hub(&settings).await;
    page.says("database", "connections", "warn", "152 of the 200", "sql.readers");
}

#[tokio::test]
async fn a_database_far_away_is_a_warning() {
    let database = Database::postgres().await.unwrap();
    let (_, place) = database.url().rsplit_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let address = place.split('/').next().unwrap().replace("localhost", "127.0.0.1").parse().unwrap();
    let link = FaultProxy::start(address).await.unwrap();
    link.delay(Duration::from_millis(100));
    let page = Page::of_hub(&hub_on(&with(&database.url(), "postgres", Some(link.addr().port())))).await;
    page.says("database", "latency", "warn", "ms for a round trip", "nearer to its database");
}
