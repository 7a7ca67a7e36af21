//! Configurations that cannot be read, or hold more than is read.

use std::path::Path;

use crate::support::{Page, run, run_on};

#[tokio::test]
async fn a_broken_file_gives_a_report_and_not_a_bare_error() {
    for program in ["spindrift-agent", "spindrift-hub"] {
        let page = Page::of(program, "server: [\n").await;
        page.wrong("configuration", "files", "config.yml:", "correct the YAML at this line");
        let page = Page::of(program, "server:\n  port: many\n").await;
        page.wrong("configuration", "values", "config.yml:2", "correct `server.port`");
        let (text, code) = run_on(program, Path::new("/no/such/config.yml"), &[], &[]).await;
        assert_eq!(code, Some(1));
        assert!(text.contains("wrong    files"), "{text}");
        assert!(text.contains("/no/such/config.yml") && text.contains("→ create the file"), "{text}");
    }
    let page = Page::of("spindrift-hub", "sql: { readers: no }").await;
    page.skipped("configuration", &["database", "tls", "ports"]);
}

#[tokio::test]
async fn unknown_keys_are_warnings_with_the_nearest_known_one() {
    let config =
        "server: { host: 127.0.0.1, port: 0 }\nclouddriver: { noProxi: true }\nredis: { enabled: true }\n";
    let page = Page::of("spindrift-agent", config).await;
    page.says("configuration", "keys", "warn", "did you mean `clouddriver.noProxy`?", "spell the key");
    page.says("configuration", "keys", "warn", "unknown key `redis`", "no effect");
    page.says("configuration", "accounts", "warn", "none are configured", "kubernetes.accounts");

    // Not where the default that would take its place is weaker.
    let config = "server: { host: 127.0.0.1, port: 0 }\nclouddriver: { insecur: false }\n";
    let page = Page::of("spindrift-agent", config).await;
    page.wrong("configuration", "keys", "did you mean `clouddriver.insecure`?", "spell the key");
    let page = Page::of("spindrift-hub", "sql: { url: 'encrypted:vault!e:kv!p:x!k:y' }\n").await;
    page.wrong("configuration", "values", "secrets of the engine `vault`", "correct `sql.url`");
}

#[tokio::test]
async fn two_accounts_of_one_name_are_wrong() {
    let config = "server: { port: 0 }\nkubernetes: { accounts: [{ name: a }, { name: a }] }\n";
    let page = Page::of("spindrift-agent", config).await;
    page.wrong("configuration", "accounts", "two accounts are called \"a\"", "kubernetes.accounts");
}

#[tokio::test]
async fn the_quiet_page_has_problems_only_and_no_colours_in_a_pipe() {
    let config = "server: { port: 0 }\nclouddriver: { grpc: nobody.invalid }\n";
    let (text, code) = run("spindrift-agent", config, &["--quiet"]).await;
    assert_eq!(code, Some(1));
    assert!(text.contains("wrong    address  expected host:port, found \"nobody.invalid\""), "{text}");
    assert!(!text.contains("  ok  ") && !text.contains("skipped") && !text.contains('\x1b'), "{text}");
    let (text, code) = run("spindrift-agent", "", &["--output", "xml"]).await;
    assert_eq!(code, Some(2));
    assert!(text.contains("expected text or json"), "{text}");
}
