//! The real API server.

use kube::config::{KubeConfigOptions, Kubeconfig};
use spindrift_testkit::Cluster;

use super::call;

/// A bare cluster: the behaviour of controllers is not part of the contract.
pub(super) enum ApiServer {
    Shared(&'static Cluster),
    Own(Box<Cluster>),
}

// === impl ApiServer ===

impl ApiServer {
    pub(super) async fn shared() -> anyhow::Result<Self> {
        call::install_tls();
        Ok(Self::Shared(Cluster::shared().await?))
    }

    pub(super) async fn own() -> anyhow::Result<Self> {
        call::install_tls();
        Ok(Self::Own(Box::new(Cluster::builder().bare().start().await?)))
    }

    fn cluster(&self) -> &Cluster {
        match self {
            Self::Shared(cluster) => cluster,
            Self::Own(cluster) => cluster,
        }
    }

    pub(super) async fn config(&self) -> anyhow::Result<kube::Config> {
        let kubeconfig = Kubeconfig::read_from(self.cluster().kubeconfig())?;
        Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
    }

    pub(super) async fn forget_history(&self) -> anyhow::Result<()> {
        self.cluster().compact().await?;
        // Its watch cache would still have the old events.
        self.cluster().restart_api_server().await
    }
}
