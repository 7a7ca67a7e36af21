//! An informer of client-go, the base of every controller in Go, works with a playground cluster.

use std::path::Path;

use serde_json::json;
use spindrift_playground::Key;
use spindrift_testkit::{Daemon, FaultProxy, eventually, testenv};

use crate::support::Living;

/// Ways in which informers list: as client-go does since 1.35, and as it did before.
const WAYS: [(&str, &str); 2] =
    [("KUBE_FEATURE_WatchListClient", "true"), ("KUBE_FEATURE_WatchListClient", "false")];

/// A cluster, the proxy in front of it, and an informer of its secrets.
struct Informed {
    cluster: Living,
    link: FaultProxy,
    informer: Daemon,
}

// === impl Informed ===

impl Informed {
    async fn start(way: (&str, &str)) -> anyhow::Result<Self> {
        let cluster = Living::start().await?;
        let link = FaultProxy::start(cluster.address()).await?;
        let kubeconfig = cluster.kubeconfig_via(link.addr())?;
        create(&cluster, "one");
        create(&cluster, "two");
        let informer = informer(&kubeconfig, way).await?;
        informer.wait_for_log("synced 2").await?;
        Ok(Self { cluster, link, informer })
    }

    fn says(&self, line: &str) -> bool {
        let line = format!("{line} ");
        self.informer.log().lines().any(|said| said.starts_with(&line))
    }

    async fn sees_changes(&self, name: &str) {
        create(&self.cluster, name);
        eventually!("it is added", self.says(&format!("add default/{name}")));
        change(&self.cluster, name);
        eventually!("it is updated", self.says(&format!("update default/{name}")));
        delete(&self.cluster, name);
        eventually!("it is deleted", self.says(&format!("delete default/{name}")));
    }
}

async fn informer(kubeconfig: &Path, way: (&str, &str)) -> anyhow::Result<Daemon> {
    let kubeconfig = kubeconfig.to_string_lossy();
    let args = ["informer", "--kubeconfig", &kubeconfig, "--resource", "secrets", "--namespace", "default"];
    Daemon::spawn(testenv().await?, &args, &[way])
}

fn key(name: &str) -> Key {
    Key::new("", "secrets", "default", name)
}

fn create(cluster: &Living, name: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
        "stringData": {"a": "1"},
    });
    cluster.cluster().create(object).unwrap();
}

fn change(cluster: &Living, name: &str) {
    cluster.cluster().update(&key(name), |object| object["data"] = json!({"a": "Mg=="})).unwrap();
}

fn delete(cluster: &Living, name: &str) {
    cluster.cluster().delete(&key(name)).unwrap();
}

#[tokio::test]
async fn it_syncs_and_sees_every_change() -> anyhow::Result<()> {
    for way in WAYS {
        let informed = Informed::start(way).await?;
        assert!(informed.says("add default/one") && informed.says("add default/two"));
        informed.sees_changes("three").await;
    }
    Ok(())
}

#[tokio::test]
async fn it_survives_a_dropped_connection() -> anyhow::Result<()> {
    for way in WAYS {
        let informed = Informed::start(way).await?;
        informed.link.cut();
        create(&informed.cluster, "meanwhile");
        delete(&informed.cluster, "one");
        informed.link.heal();
        eventually!("what came is added", informed.says("add default/meanwhile"));
        eventually!("what went is deleted", informed.says("delete default/one"));
        let log = informed.informer.log();
        assert_eq!(log.lines().filter(|line| line.starts_with("add default/two ")).count(), 1, "{log}");
    }
    Ok(())
}

#[tokio::test]
async fn it_lists_again_when_its_version_is_gone() -> anyhow::Result<()> {
    for way in WAYS {
        let informed = Informed::start(way).await?;
        informed.link.cut();
        create(&informed.cluster, "meanwhile");
        delete(&informed.cluster, "one");
        change(&informed.cluster, "two");
        informed.cluster.cluster().compact();
        informed.link.heal();
        eventually!("what came is added", informed.says("add default/meanwhile"));
        eventually!("what went is deleted", informed.says("delete default/one"));
        eventually!("what changed is updated", informed.says("update default/two"));
        informed.sees_changes("three").await;
    }
    Ok(())
}
