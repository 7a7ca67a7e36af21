//! The output of `spindrift describe` is that of `kubectl describe`.

use std::cell::Cell;

use spindrift_testkit::eventually;

use crate::fleet::{ACCOUNTS, Fleet};

/// Kinds whose descriptions are compared line by line. Of Secrets the hub has only the metadata.
const KINDS: [&str; 18] = [
    "pods", "deploy", "rs", "sts", "ds", "jobs", "cj", "svc", "ing", "nodes", "ns", "cm", "sa", "pvc", "pv",
    "hpa", "rc", "wd",
];

/// Words of a page, without its layout.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectls_message_about_an_object_is_ours() {
    let fleet = Fleet::shared().await;
    for (kind, name, facts) in [
        (
            "pod",
            "cart-running",
            &["node-a/192.168.1.10", "app=cart", "8080/TCP", "(http)", "Error", "100m"][..],
        ),
        ("pod", "crash-looping", &["CrashLoopBackOff", "OOMKilled", "137", "Unhealthy", "(x40", "probe"]),
        (
            "deploy",
            "rolling",
            &["app=rolling", "registry.example.com/c1:1", "MinimumReplicasAvailable", "RollingUpdate"],
        ),
        ("rs", "rolling-1", &["app=rolling", "registry.example.com/c0:1"]),
        ("sts", "database", &["app=database", "RollingUpdate"]),
        ("ds", "logs", &["disk=ssd", "zone=z1", "Misscheduled:"]),
        ("job", "broken", &["NonIndexed", "Failed"]),
        ("svc", "balanced", &["LoadBalancer", "443/TCP", "SingleStack"]),
        ("cm", "settings", &["two", "lines", "&"]),
        ("ing", "front", &["nginx", "a.example.com", "cluster:80", "203.0.113.5,lb.example.com"]),
        ("pvc", "data", &["Bound", "10Gi", "RWO", "fast"]),
        ("wd", "gear", &["example.com/v1", "Widget", "Synced", "2.5"]),
    ] {
        let kubectl = fleet.cluster.kubectl(&["describe", kind, name, "-n", "shop"]).await.unwrap();
        let ours = fleet.spindrift(&["describe", kind, name, "-n", "shop", "-a", ACCOUNTS[0]]).await;
        assert_eq!((ours.code, ours.stderr.as_str()), (Some(0), ""), "{kind}");
        assert_eq!(words(&ours.stdout)[..2], ["Account:", ACCOUNTS[0]]);
        for fact in facts {
            for page in [&kubectl, &ours.stdout] {
                assert!(words(page).contains(fact), "{kind}/{name} lacks {fact}:\n{page}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_several_accounts_has_a_page_for_each() {
    let fleet = Fleet::shared().await;
    let pages = fleet.spindrift(&["describe", "node/node-a"]).await.stdout;
    let accounts: Vec<_> = pages.lines().filter(|line| line.starts_with("Account:")).collect();
    assert_eq!(accounts.len(), ACCOUNTS.len(), "{pages}");
    assert!(pages.contains("control-plane:NoSchedule"), "{pages}");
    let missing = fleet.spindrift(&["describe", "pod", "nobody"]).await;
    assert_eq!(missing.stderr, "Error from server (NotFound): pods \"nobody\" not found\n");
    assert_eq!(missing.code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_are_those_of_kubectl_line_by_line() {
    let fleet = Fleet::shared().await;
    // Ages tick between the two commands, so that a kind may need several attempts.
    let kinds = Cell::new(KINDS.to_vec());
    eventually!("spindrift describe prints what kubectl does", crate::watch::LONG, {
        let (mut differing, mut differences) = (Vec::new(), Vec::new());
        for kind in kinds.take() {
            if let Err(difference) = compare(fleet, kind).await {
                differing.push(kind);
                differences.push(format!("{kind}: {difference}"));
            }
        }
        kinds.set(differing);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n\n")) }
    });
}

/// Compares the descriptions of all objects of a kind.
async fn compare(fleet: &Fleet, kind: &str) -> Result<(), String> {
    let words = ["describe", kind, "-n", "shop"];
    // kubectl omits the events of several objects by default.
    let theirs = fleet.cluster.kubectl(&[&words[..], &["--show-events=true"]].concat()).await;
    let theirs = theirs.map_err(|error| error.to_string())?;
    let printed = fleet.spindrift(&[&words[..], &["-a", ACCOUNTS[0]]].concat()).await;
    let is_account = |line: &&str| line.starts_with("Account:");
    let ours: Vec<_> = printed.stdout.lines().filter(|line| !is_account(line)).collect();
    let theirs: Vec<_> = theirs.lines().collect();
    if ours == theirs && !ours.is_empty() {
        return Ok(());
    }
    let differs = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
    let at = differs.unwrap_or(ours.len().min(theirs.len()));
    let around = |lines: &[&str]| lines[at.saturating_sub(8)..lines.len().min(at + 4)].join("\n");
    Err(format!("{}ours:\n{}\nkubectl:\n{}", printed.stderr, around(&ours), around(&theirs)))
}
