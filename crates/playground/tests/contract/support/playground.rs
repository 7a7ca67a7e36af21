//! The playground, in this process.

use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use spindrift_playground::{Cluster, Playground};
use spindrift_process::shutdown::Shutdown;

/// A listener with one cluster, without controllers, like a bare API server.
pub(super) struct PlaygroundServer {
    playground: Playground,
    cluster: Arc<Cluster>,
    /// Its tasks end with the runtime of the test.
    _shutdown: Shutdown,
}

// === impl PlaygroundServer ===

impl PlaygroundServer {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let playground = Playground::bind(([127, 0, 0, 1], 0).into()).await?;
        let cluster = Cluster::new("contract");
        playground.add(Arc::clone(&cluster));
        let shutdown = Shutdown::new();
        playground.start(&shutdown);
        Ok(Self { playground, cluster, _shutdown: shutdown })
    }

    pub(super) fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    pub(super) fn kubeconfig(&self) -> String {
        self.playground.kubeconfig()
    }

    pub(super) async fn config(&self) -> anyhow::Result<kube::Config> {
        let kubeconfig = Kubeconfig::from_yaml(&self.kubeconfig())?;
        Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
    }
}
