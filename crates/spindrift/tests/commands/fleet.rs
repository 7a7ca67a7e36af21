//! `accounts`, `agents`, `watches`, `api-resources` and `version`.

use serde_json::json;
use spindrift_testkit::{Cluster, Daemon, Database, binary, eventually};

use crate::support::{LONG, Shell, Stack};

const KINDS: [&str; 4] = ["ConfigMap", "Namespace", "Deployment", "CronJob"];

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_is_shown_as_tables_json_yaml_and_names() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &KINDS).await;
    let shell = Shell::new(Some(&stack.hub));

    let accounts = shell.spindrift(&["accounts"]).table();
    let [header, main] = &accounts[..] else { panic!("{accounts:?}") };
    assert_eq!(header.join(" "), "NAME STATE AGENT HUB VERSION OBJECTS SEEN PROBLEM");
    assert_eq!(main[..4], ["main", "live", "agent-a", "hub-a"]);
    assert!(
        main[4].starts_with("v1.") && main[5].parse::<u64>().is_ok_and(|objects| objects > 0),
        "{main:?}"
    );
    assert_eq!(main[7], "<none>");
    let wide = shell.spindrift(&["accounts", "-o", "wide", "--no-headers"]).ok();
    assert!(wide.contains(&cluster.url()) && wide.lines().count() == 1, "{wide}");
    let json = shell.spindrift(&["accounts", "-o", "json"]).json();
    assert_eq!((&json[0]["name"], &json[0]["cachedBy"]), (&json!("main"), &json!("agent-a")));
    assert!(shell.spindrift(&["accounts", "-o", "yaml"]).ok().contains("name: main"));
    assert_eq!(shell.spindrift(&["accounts", "-o", "name"]).ok(), "main\n");

    let agents = shell.spindrift(&["agents", "-o", "wide"]).table();
    assert_eq!(agents[0].join(" "), "NAME VERSION HUB ACCOUNTS CONNECTED SEEN ZONE CACHES");
    assert_eq!(agents[1][..4], ["agent-a", env!("CARGO_PKG_VERSION"), "hub-a", "1"]);
    assert_eq!(agents[1].last().unwrap(), "main");

    let watches = shell.spindrift(&["watches", "-a", "main"]).table();
    assert_eq!(watches[0].join(" "), "ACCOUNT KIND NAMESPACE PHASE OBJECTS AGE");
    let kinds: Vec<_> = watches[1..].iter().map(|row| row[1..4].join(" ")).collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap <all> live",
            "Namespace <all> live",
            "Deployment.apps <all> live",
            "CronJob.batch <all> live"
        ]
    );
    let nothing = shell.spindrift(&["watches", "-a", "other"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(0), ""));
    assert!(nothing.err.contains("No watches found of other"), "{nothing:?}");
    assert_eq!(shell.spindrift(&["--quiet", "watches", "-a", "other"]).ok(), "");

    let version = shell.spindrift(&["version"]).ok();
    assert_eq!(
        version,
        format!("spindrift {0}\nhub       {0} ({1})\n", env!("CARGO_PKG_VERSION"), stack.hub.url())
    );
    let version = shell.spindrift(&["version", "-o", "json"]).json();
    assert_eq!(version["hub"]["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test(flavor = "multi_thread")]
async fn api_resources_are_as_kubectl_shows_them() {
    let cluster = Cluster::shared().await.unwrap();
    let kinds = [
        "ConfigMap",
        "Namespace",
        "Deployment",
        "CronJob",
        "Ingress",
        "ServiceAccount",
        "PriorityClass",
        "Lease",
    ];
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &kinds).await;
    let shell = Shell::new(Some(&stack.hub));
    let words = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };

    let theirs = words(&cluster.kubectl(&["api-resources"]).await.unwrap());
    let ours = words(&shell.spindrift(&["api-resources"]).ok());
    assert_eq!(ours.len(), kinds.len() + 1);
    for line in &ours {
        assert!(theirs.contains(line), "kubectl does not say {line:?}: {theirs:#?}");
    }
    let names = shell.spindrift(&["api-resources", "-o", "name", "--api-group", "apps"]).ok();
    assert_eq!(names, "deployments.apps\n");
    let without = words(&shell.spindrift(&["api-resources", "--namespaced=false", "--no-headers"]).ok());
    assert_eq!(
        without,
        ["namespaces ns v1 false Namespace", "priorityclasses pc scheduling.k8s.io/v1 false PriorityClass"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_watched_over_the_end_of_an_agent_and_of_the_hub() {
    let cluster = Cluster::shared().await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    let shell = Shell::new(Some(&stack.hub));
    let watch = Daemon::spawn(binary("spindrift").unwrap(), &["accounts", "-w"], &shell.env()).unwrap();
    let has_line =
        |words: [&str; 2]| watch.log().lines().any(|line| line.split_whitespace().take(2).eq(words));

    eventually!("the account is live", LONG, has_line(["main", "live"]));
    stack.hub.kill();
    eventually!("the hub is missed", LONG, watch.log().contains("retrying"));
    stack.agent.kill();
    stack.hub.restart().await.unwrap();
    eventually!("the hub is greeted", LONG, watch.log().contains("reconnected to the hub"));
    eventually!("the account is stale", LONG, has_line(["main", "stale"]));
    assert!(watch.exited().is_none(), "{}", watch.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_an_agent_can_be_forgotten() {
    let cluster = Cluster::shared().await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["Namespace"]).await;
    let shell = Shell::new(Some(&stack.hub));
    let served = shell.spindrift(&["accounts", "forget", "main"]);
    assert_eq!(served.code, Some(1));
    assert!(served.err.contains("agent agent-a serves account main"), "{served:?}");
    stack.agent.kill();
    eventually!("it can be forgotten", LONG, {
        let output = shell.spindrift(&["accounts", "forget", "main"]);
        output.code == Some(0) && output.out == "account/main forgotten\n"
    });
    let unknown = shell.spindrift(&["accounts", "forget", "main"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("there is no account main"), "{unknown:?}");
    assert_ne!(shell.spindrift(&["accounts", "forget"]).code, Some(0), "nothing is forgotten by chance");
}
