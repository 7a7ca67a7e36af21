//! Several clusters at once.

use serde_json::Value;
use spindrift_testkit::eventually;

use crate::{
    fleet::{ACCOUNTS, Fleet},
    watch::LONG,
};

/// The rows of a table, header first, each as its words.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_column_comes_first_unless_one_account_is_named() {
    let fleet = Fleet::shared().await;
    let expected = [
        vec!["ACCOUNT", "NAMESPACE", "NAME", "DATA"],
        vec!["east", "shop", "empty", "0"],
        vec!["east", "shop", "settings", "4"],
        vec!["west", "shop", "empty", "0"],
        vec!["west", "shop", "settings", "4"],
    ];
    for args in [
        &["get", "cm", "-A"][..],
        &["get", "cm", "-A", "-a", "east,west"],
        &["get", "cm", "-A", "-a", "west", "-a", "east"],
        &["get", "cm", "-A", "-a", "*st"],
        &["get", "cm", "-A", "-a", "e*,west"],
    ] {
        eventually!("both accounts are shown", LONG, {
            let printed = fleet.spindrift(args).await;
            let mut rows: Vec<Vec<_>> = rows(&printed.stdout)
                .into_iter()
                .map(|row| row.into_iter().take(4).map(str::to_owned).collect())
                .collect();
            rows.retain(|row| row[1] != "kube-system");
            if rows == expected { Ok(()) } else { Err(printed) }
        });
    }
    let one = fleet.spindrift(&["get", "cm", "-n", "shop", "-a", "west"]).await;
    assert_eq!(rows(&one.stdout)[0], ["NAME", "DATA", "AGE"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_say_their_account_unless_it_was_named() {
    let fleet = Fleet::shared().await;
    let both = fleet.spindrift(&["get", "cm", "settings", "-n", "shop", "-o", "json"]).await;
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(both["kind"], "List");
    let accounts: Vec<_> = both["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["annotations"]["spindrift.io/account"].as_str().unwrap())
        .collect();
    assert_eq!(accounts, ACCOUNTS);
    let one = fleet.spindrift(&["get", "cm", "settings", "-n", "shop", "-o", "json", "-a", "east"]).await;
    let one: Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!(one["kind"], "ConfigMap");
    assert_eq!(one["metadata"].get("annotations"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_select_accounts_in_every_command_that_reads() {
    let fleet = Fleet::shared().await;
    for args in [
        &["get", "node", "node-a", "-o", "name"][..],
        &["describe", "node/node-a"],
        &["watches", "-o", "name"],
        &["operations", "-o", "name"],
    ] {
        let by_name = fleet.spindrift(&[args, &["-a", "east"]].concat()).await;
        let by_pattern = fleet.spindrift(&[args, &["-a", "ea*"]].concat()).await;
        assert_eq!(by_pattern.code, Some(0), "{by_pattern:?}");
        assert_eq!(by_pattern.stdout.lines().count(), by_name.stdout.lines().count(), "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_named_object_found_in_one_account_is_no_list() {
    let fleet = Fleet::shared().await;
    let one = ["get", "cm", "settings", "-n", "shop", "-a", "ea*", "-o"];
    let path = fleet.spindrift(&[&one[..], &["jsonpath={.metadata.name}"]].concat()).await;
    assert_eq!((path.stdout.as_str(), path.code), ("settings", Some(0)), "{path:?}");
    let document = fleet.spindrift(&[&one[..], &["json"]].concat()).await;
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["kind"], "ConfigMap");
    assert_eq!(document["metadata"]["annotations"]["spindrift.io/account"], "east");
    let yaml = fleet.spindrift(&[&one[..], &["yaml"]].concat()).await;
    assert!(yaml.stdout.starts_with("apiVersion: v1\nbinaryData:"), "{yaml:?}");

    // In two accounts, it is a list; in none, an error alone.
    let both = ["get", "cm", "settings", "-n", "shop", "-o", "jsonpath={.items[*].metadata.name}"];
    assert_eq!(fleet.spindrift(&both).await.stdout, "settings settings");
    let none = fleet.spindrift(&["get", "cm", "nobody", "-n", "shop", "-o", "json"]).await;
    assert_eq!((none.stdout.as_str(), none.code), ("", Some(1)), "{none:?}");
}
