//! Columns and values per kind.

use crate::fleet::{ACCOUNTS, Fleet};

/// By one of the names that each of them has.
const KINDS: [&str; 40] = [
    "pods",
    "deploy",
    "ReplicaSet",
    "statefulsets.apps",
    "ds",
    "jobs",
    "cj",
    "svc",
    "endpoints",
    "endpointslices",
    "cm",
    "ns",
    "nodes",
    "ing",
    "ingressclass",
    "pv",
    "pvc",
    "sc",
    "sa",
    "hpa",
    "netpol",
    "pdb",
    "events",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "rc",
    "quota",
    "limits",
    "crd",
    "leases",
    "pc",
    "wd",
    "gadgets.example.com",
    "controllerrevisions",
    "podtemplates",
    "runtimeclasses",
    "csidrivers",
    "validatingwebhookconfigurations",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_has_kubectls_columns_and_values() {
    let fleet = Fleet::shared().await;
    for kind in KINDS {
        fleet.prints_like_kubectl(&[kind, "-A"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_tables_have_kubectls_columns_and_values_too() {
    let fleet = Fleet::shared().await;
    for kind in KINDS {
        fleet.prints_like_kubectl(&[kind, "-A", "-o", "wide", "--show-labels"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_the_exception() {
    let fleet = Fleet::shared().await;
    let printed = fleet.spindrift(&["get", "secrets", "-A", "-a", ACCOUNTS[0]]).await;
    let words: Vec<Vec<_>> = printed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAMESPACE", "NAME", "TYPE", "DATA", "AGE"]);
    assert_eq!(words[1][..4], ["shop", "password", "<hidden>", "<hidden>"], "{}", printed.stdout);
    assert!(!format!("{printed:?}").contains("hunter2"));
}
