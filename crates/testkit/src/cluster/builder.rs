//! Which parts a cluster consists of.

use std::sync::Arc;

use anyhow::Context;

use super::{Cluster, ContainerLog, Etcd, testenv};

/// Chooses the parts of a cluster; all of them by default.
#[derive(Clone, Default)]
pub struct ClusterBuilder {
    pub(super) parts: Parts,
    pub(super) logs: Vec<ContainerLog>,
}

#[derive(Clone, Copy, Default)]
pub(super) enum Parts {
    /// etcd and API server: objects can be stored and watched, nothing acts on them.
    Bare,
    /// Also controllers, scheduler, kwok and a node, so that pods run.
    #[default]
    Controllers,
}

// === impl ClusterBuilder ===

impl ClusterBuilder {
    /// Only etcd and API server, which is all that most tests need.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { parts: Parts::Bare, ..self }
    }

    /// The whole control plane and a node on which pods run.
    #[must_use]
    pub fn controllers(self) -> Self {
        Self { parts: Parts::Controllers, ..self }
    }

    /// Adds the log of containers, where pods run; without any, all logs are empty.
    #[must_use]
    pub fn log(mut self, log: ContainerLog) -> Self {
        self.logs.push(log);
        self
    }

    /// Starts the cluster and waits until it is ready.
    pub async fn start(self) -> anyhow::Result<Cluster> {
        let etcd = Etcd::start(testenv::path().await?).await.context("start etcd")?;
        Cluster::start_on(Arc::new(etcd), self).await
    }
}
