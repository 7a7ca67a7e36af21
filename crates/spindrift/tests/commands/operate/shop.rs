//! Rollouts and logs, where there are controllers and containers: in the shops of `spindrift up`.

use std::{cell::RefCell, path::Path};

use spindrift_testkit::{Daemon, Kubectl, binary, eventually, scratch};
use tempfile::TempDir;

use crate::support::{CommandOutput, LONG, Shell};

/// `spindrift up` with two simulated clusters.
struct Shops {
    shell: Shell,
    kubectl: Kubectl,
    accounts: Vec<String>,
    _daemon: Daemon,
    _data: TempDir,
}

// === impl Shops ===

impl Shops {
    async fn open() -> Self {
        let data = scratch("shops").unwrap();
        let directory = data.path().to_str().unwrap();
        let ports = ["--port=0", "--grpc-port=0", "--agent-port=0"];
        let args = [&["up", "--playground=2", "--data-dir", directory], &ports[..]].concat();
        let env = [("KUBECONFIG", "/nonexistent")];
        let daemon = Daemon::spawn(binary("spindrift").unwrap(), &args, &env).unwrap();
        daemon.wait_for_log("Ctrl-C stops it.").await.unwrap();
        let log = daemon.log();
        let hub = log.lines().find(|line| line.trim_start().starts_with("hub ")).unwrap();
        let url = hub.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        let shell = Shell::new(None).with("SPINDRIFT_HUB", url);
        let names = shell.spindrift(&["accounts", "-o", "name"]).ok();
        let kubectl = Kubectl::with(&Path::new(directory).join("playground.kubeconfig")).await.unwrap();
        Self {
            accounts: names.lines().map(str::to_owned).collect(),
            shell,
            kubectl,
            _daemon: daemon,
            _data: data,
        }
    }

    /// In the first of them.
    fn spindrift(&self, args: &[&str]) -> CommandOutput {
        self.shell.spindrift(&[args, &["-n", "shop", "-a", &self.accounts[0]]].concat())
    }

    async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let place = ["-n", "shop", "--context", &self.accounts[0]];
        self.kubectl.run(&[args, &place].concat(), "").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_followed_until_it_is_done() {
    let shops = Shops::open().await;
    let cart = "deploy/cart";
    assert_eq!(shops.spindrift(&["rollout", "restart", cart]).ok(), "deployment.apps/cart restarted\n");
    let followed = shops.spindrift(&["rollout", "status", cart, "--timeout=2m"]).ok();
    assert_eq!(followed.lines().last(), Some("deployment \"cart\" successfully rolled out"), "{followed}");

    // The shop lives on: both look until they have seen the same.
    for words in [&["rollout", "history", cart][..], &["rollout", "status", cart, "--watch=false"]] {
        eventually!(format!("{words:?} says what kubectl says"), LONG, {
            let (ours, theirs) = (shops.spindrift(words).ok(), shops.kubectl(words).await?);
            anyhow::ensure!(ours == theirs, "{ours}\nkubectl:\n{theirs}");
            Ok(())
        });
    }
    assert_eq!(shops.spindrift(&["rollout", "undo", cart]).ok(), "deployment.apps/cart rolled back\n");
    let all = ["-n", "shop", "--all-accounts"];
    let status = shops.shell.spindrift(&[&["rollout", "status", cart], &all[..]].concat()).ok();
    for account in &shops.accounts {
        let done = format!("{account}  deployment \"cart\" successfully rolled out");
        assert!(status.lines().any(|line| line.split_whitespace().eq(done.split_whitespace())), "{status}");
    }

    let missing = shops.spindrift(&["rollout", "status", "deploy/nobody"]);
    let output = "Error from server (NotFound): deployments.apps \"nobody\" not found\n";
    assert_eq!((missing.code, missing.err.as_str()), (Some(1), output));
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_read_followed_and_left_quietly() {
    let shops = Shops::open().await;
    eventually!("the shop has something to say", LONG, {
        let output = shops.spindrift(&["logs", "deploy/cart", "--tail=2"]);
        let is_noted = output.err.is_empty() || output.err.starts_with("Found ");
        if output.out.lines().count() == 2 && is_noted { Ok(()) } else { Err(output) }
    });
    let since = ["--timestamps", "--since=1h"];
    eventually!("a log is what kubectl reads", LONG, {
        let pods = shops.kubectl(&["get", "pods", "-l", "app=cart", "-o", "name"]).await?;
        let pod = pods.lines().next().unwrap_or_default().trim_start_matches("pod/");
        let ours = shops.spindrift(&[&["logs", pod], &since[..]].concat()).out;
        let theirs = shops.kubectl(&[&["logs", pod], &since[..]].concat()).await?;
        // It grows between the two.
        anyhow::ensure!(!ours.is_empty() && theirs.starts_with(&ours), "{ours}\n\n{theirs}");
        Ok(())
    });
    let labelled = shops
        .shell
        .spindrift(&["logs", "-l", "app=cart", "--tail=1", "--prefix", "-n", "shop", "--all-accounts"])
        .ok();
    assert!(labelled.lines().all(|line| line.contains("  [pod/cart-")), "{labelled}");

    let follow = ["logs", "-f", "deploy/cart", "--tail=1", "-n", "shop", "-a", &shops.accounts[0]];
    let started = RefCell::new(shops.shell.start(&follow));
    eventually!("the log goes on", LONG, {
        // A container that ends by itself ends its log, too: then another one is followed.
        if started.borrow_mut().has_ended() {
            started.replace(shops.shell.start(&follow));
        }
        started.borrow().out().lines().count() > 3
    });
    let output = tokio::task::spawn_blocking(|| started.into_inner().interrupt()).await.unwrap();
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(output.err.lines().all(|line| line.starts_with("Found ")), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_find_the_account_and_the_pod_and_are_sorted_by_time() {
    let shops = Shops::open().await;
    let only =
        "{apiVersion: v1, kind: Pod, metadata: {name: only}, spec: {containers: [{name: c, image: 'c:1'}]}}";
    let place = ["-n", "shop", "-a", &shops.accounts[1]];
    shops.shell.spindrift_stdin(&[&["apply", "-f", "-"], &place[..]].concat(), only).ok();
    eventually!("the only account with the pod is found", LONG, {
        let output = shops.shell.spindrift(&["logs", "only", "-n", "shop"]);
        if output.code == Some(0) && !output.out.is_empty() { Ok(()) } else { Err(output) }
    });
    let several = shops.shell.spindrift(&["logs", "deploy/cart", "-n", "shop"]).error();
    assert!(several.contains("deploy/cart is in several accounts: "), "{several}");

    let chosen = shops.spindrift(&["logs", "deploy/cart", "--tail=1"]);
    let theirs = shops.kubectl(&["get", "pods", "-l", "app=cart", "-o", "name"]).await.unwrap();
    if theirs.lines().count() > 1 {
        assert!(
            chosen.err.starts_with("Found ") && chosen.err.contains(" pods, using pod/cart-"),
            "{chosen:?}"
        );
    }
    let all = ["logs", "-l", "app=cart", "--tail=20", "--timestamps", "-n", "shop", "--all-accounts"];
    let merged = shops.shell.spindrift(&all).ok();
    let times: Vec<_> = merged.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let mut sorted = times.clone();
    sorted.sort_by_key(|time| time.parse::<jiff::Timestamp>().unwrap());
    assert!(times.len() > 2 && times == sorted, "{merged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_measured_in_the_playground() {
    let shops = Shops::open().await;
    eventually!("pods run and are measured", LONG, {
        shops.shell.spindrift(&["top", "pods", "-n", "shop"]).out.lines().count() > 1
    });
    let pods = shops.shell.spindrift(&["top", "pods", "-n", "shop"]).table();
    assert_eq!(pods[0], ["ACCOUNT", "NAME", "CPU(cores)", "MEMORY(bytes)"]);
    assert!(pods.iter().skip(1).all(|row| row[2].ends_with('m') && row[3].ends_with("Mi")), "{pods:?}");
    let nodes = shops.shell.spindrift(&["top", "nodes", "-a", &shops.accounts[0]]).table();
    assert!(nodes.len() > 1 && nodes[1][2].ends_with('%'), "{nodes:?}");
    let missing = shops.spindrift(&["top", "pods", "nobody"]);
    assert!(missing.err.contains("not found"), "{missing:?}");
}
