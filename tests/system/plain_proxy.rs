//! A connection to an API server on which answers are changed.

use std::process::Command;

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Daemon, FaultProxy, free_port};

/// Script that prints where the real kubectl is.
const TESTENV: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testenv/build");

/// A way to the API server in plain HTTP, whose bytes can be tampered with.
pub(crate) struct PlainProxy {
    pub(crate) tampering: FaultProxy,
    _kubectl: Daemon,
}

// === impl PlainProxy ===

impl PlainProxy {
    pub(crate) async fn open(cluster: &Cluster) -> Self {
        let testenv = Command::new(TESTENV).output().unwrap().stdout;
        let testenv = String::from_utf8(testenv).unwrap();
        let port = free_port();
        let kubeconfig = cluster.kubeconfig().to_str().unwrap();
        let args = ["kubectl", "proxy", "--kubeconfig", kubeconfig, "--port", &port.to_string()];
        let kubectl = Daemon::spawn(testenv.trim(), &args, &[]).unwrap();
        kubectl.wait_for_log("Starting to serve").await.unwrap();
        let tampering = FaultProxy::start(([127, 0, 0, 1], port).into()).await.unwrap();
        Self { tampering, _kubectl: kubectl }
    }

    /// A kubeconfig that leads to this proxy.
    pub(crate) fn kubeconfig(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [{ "name": "proxy", "cluster": { "server": format!("http://{}", self.tampering.addr()) } }],
            "users": [{ "name": "proxy", "user": {} }],
            "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "proxy" } }],
        })
    }
}
