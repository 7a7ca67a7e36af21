//! The disk of an SQLite hub is full, read-only or fails; then it works again.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess, SmallDisk, eventually};

use crate::{
    big_cluster::{BYTES, BigCluster},
    target::Target,
};

const LONG: Duration = Duration::from_mins(1);

const MIB: u64 = 1 << 20;

/// A hub on a disk of its own, with a cluster.
struct OnDisk {
    cluster: BigCluster,
    hub: HubProcess,
    /// Before the disk, on which its directory is.
    _database: Database,
    disk: SmallDisk,
    created: usize,
}

pub(crate) async fn faults(target: &mut Target) {
    let mut on_disk = OnDisk::start().await;

    on_disk.disk.fill().unwrap();
    on_disk.is_down(target, "full").await;
    on_disk.disk.free().unwrap();
    on_disk.recovers(target, "full", "database or disk is full").await;

    // The writer fails on the full disk; the next one finds a disk that is read-only.
    on_disk.disk.fill().unwrap();
    on_disk.is_down(target, "full again").await;
    on_disk.disk.read_only().unwrap();
    eventually!("a writer was opened on the read-only disk", LONG, {
        on_disk.hub.daemon().log().contains("attempt to write a readonly database")
    });
    on_disk.is_down(target, "read-only").await;
    on_disk.disk.writable().unwrap();
    on_disk.disk.free().unwrap();
    on_disk.recovers(target, "read-only", "attempt to write a readonly database").await;

    // Beyond this size of a file, writes fail with EFBIG, which SQLite reports as an I/O error.
    on_disk.hub.daemon().limit_file_size(Some(MIB)).unwrap();
    on_disk.is_down(target, "failing").await;
    on_disk.hub.daemon().limit_file_size(None).unwrap();
    on_disk.recovers(target, "failing", "disk I/O error").await;

    let log = on_disk.hub.daemon().log();
    target.check("no account was detached", !log.contains("its account is detached"), &log);
}

// === impl OnDisk ===

impl OnDisk {
    async fn start() -> Self {
        let disk = SmallDisk::mount(96 * MIB).unwrap();
        let database = Database::sqlite_on(&disk).unwrap();
        let kinds = ("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]));
        let hub = HubProcess::start("hub-on-disk", &database, &[kinds]).await.unwrap();
        let cluster = BigCluster::start(&hub, "big").await;
        cluster.create("first", 4, BYTES).await;
        cluster.converges(&hub).await;
        Self { cluster, hub, _database: database, disk, created: 0 }
    }

    /// Changes the cluster, and waits until the hub reports that it cannot store that.
    async fn is_down(&mut self, target: &mut Target, state: &str) {
        self.created += 1;
        self.cluster.create(&format!("change-{}", self.created), 6, BYTES).await;
        let url = format!("{}/health", self.hub.url());
        let health: Value = eventually("the hub is down", LONG, || async {
            let response = reqwest::get(&url).await?;
            anyhow::ensure!(response.status() == 503, "{}", response.status());
            Ok(response.json().await?)
        })
        .await;
        let named = health["awaited"].to_string().contains("writes to the database");
        target.check(format!("/health names a {state} disk"), named, &health);
        let alive = self.hub.get("/health/liveness").await;
        target.check(format!("a hub with a {state} disk is alive"), alive.is_ok(), format!("{alive:?}"));
        let read = self.hub.get("/v1/objects?account=big&limit=1").await;
        target.check(format!("objects on a {state} disk are read"), read.is_ok(), format!("{read:?}"));
    }

    /// Waits until the hub has stored everything.
    async fn recovers(&self, target: &mut Target, state: &str, cause: &str) {
        self.cluster.converges(&self.hub).await;
        eventually!("the hub is up", LONG, self.hub.get("/health").await);
        let log = self.hub.daemon().log();
        target.check(format!("the log has the cause of a {state} disk"), log.contains(cause), "it has not");
    }
}
