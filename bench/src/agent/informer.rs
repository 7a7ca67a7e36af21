//! The peer: a dynamic informer of client-go, which keeps all that it follows.

use std::time::Duration;

use anyhow::Context;
use spindrift_testkit::{Cluster, Daemon, testenv};
use tokio::time::{Instant, sleep, timeout};

use crate::stack::ProcessMemory;

/// Long enough for all pods on a busy machine.
const SYNC_LIMIT: Duration = Duration::from_mins(3);

/// Interval at which the informer is polled.
const GLANCE: Duration = Duration::from_millis(20);

/// Time until an informer's cache held everything, and its memory then.
pub(super) struct Informed {
    pub(super) took: Duration,
    pub(super) memory: ProcessMemory,
}

pub(super) async fn measure(cluster: &Cluster, pods: usize) -> anyhow::Result<Informed> {
    let kubeconfig = cluster.kubeconfig().to_string_lossy();
    let arguments = ["informer", "--resource", "pods", "--kubeconfig", &kubeconfig];
    let started = Instant::now();
    let daemon = Daemon::spawn(testenv().await?, &arguments, &[])?;
    let told = format!("synced {pods}\n");
    let synced = async {
        while !daemon.log().ends_with(&told) {
            sleep(GLANCE).await;
        }
        started.elapsed()
    };
    let took = timeout(SYNC_LIMIT, synced).await.context("the informer takes too long")?;
    Ok(Informed { took, memory: ProcessMemory::at_rest(&daemon).await? })
}
