//! One simulated cluster with a pod that has written as much as one likes.

use std::{path::PathBuf, sync::Arc};

use futures::{StreamExt, stream, stream::BoxStream};
use serde_json::{Value, json};
use spindrift_playground::{
    Cluster, ContainerRun, LogLine, LogSource, Timing,
    fleet::{self, Content, Fleet, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::scratch;
use tempfile::TempDir;

pub(crate) struct Playground {
    fleet: Fleet,
    kubeconfig: PathBuf,
    _files: TempDir,
    _shutdown: Shutdown,
}

/// Every container has written the same.
pub(crate) struct Written(pub(crate) Vec<LogLine>);

// === impl Playground ===

impl Playground {
    pub(crate) async fn start() -> Self {
        let shutdown = Shutdown::new();
        let content = Content::Shop { timing: Timing::FAST, pace: 0.0 };
        let options = FleetOptions { content, ..FleetOptions::shops(1) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let files = scratch("playground").unwrap();
        let kubeconfig = files.path().join("config");
        std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
        Self { fleet, kubeconfig, _files: files, _shutdown: shutdown }
    }

    pub(crate) fn name(&self) -> &str {
        self.cluster_ref().name()
    }

    pub(crate) fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(self.cluster_ref())
    }

    fn cluster_ref(&self) -> &Arc<Cluster> {
        &self.fleet.clusters[0]
    }

    /// One account, of the cluster's name.
    pub(crate) fn accounts(&self) -> Value {
        json!([{ "name": self.name(), "kubeconfigFile": self.kubeconfig, "context": self.name() }])
    }

    /// The base address of the cluster's API.
    pub(crate) fn url(&self) -> String {
        self.fleet.playground.url(self.name())
    }
}

// === impl Written ===

impl LogSource for Written {
    fn lines(&self, _pod: &Value, _container: &str, _run: ContainerRun) -> Vec<LogLine> {
        self.0.clone()
    }

    fn follow(&self, _pod: &Value, _container: &str) -> BoxStream<'static, LogLine> {
        stream::pending().boxed()
    }
}
