//! Columns and values per kind.

use spindrift_testkit::eventually;

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

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_object_are_those_of_kubectl() {
    let fleet = Fleet::shared().await;
    for args in [&["events", "-n", "nowhere"][..], &["events", "-n", "shop", "--for", "pod/nobody"]] {
        let ours = [args, &["-a", ACCOUNTS[0]]].concat();
        eventually!(format!("spindrift {} prints what kubectl does", ours.join(" ")), crate::watch::LONG, {
            let theirs = fleet.cluster.kubectl(args).await.map_err(|error| error.to_string())?;
            let printed = fleet.spindrift(&ours).await;
            if printed.stdout == theirs { Ok(()) } else { Err(format!("{printed:?}\nkubectl:\n{theirs}")) }
        });
    }
    let none = fleet.spindrift(&["events", "-n", "nowhere"]).await;
    assert_eq!((none.stderr.as_str(), none.code), ("No events found in nowhere namespace.\n", Some(0)));
    let both = fleet.spindrift(&["events", "-n", "shop", "--for", "pod/crash-looping"]).await;
    assert!(both.stdout.starts_with("ACCOUNT"), "{both:?}");
    let wrong = fleet.spindrift(&["events", "--types=Odd"]).await;
    assert_eq!(wrong.stderr, "error: valid --types are Normal or Warning\n");
}
