//! Real clusters and databases on free ports, fault proxies and assertions for tests.
//!
//! ```text
//! test process ──▶ Cluster   (etcd, kube-apiserver, … of testenv/)      ┐
//!              ──▶ Database  (SQLite file, PostgreSQL, MariaDB)         ├─ each server is a Daemon
//!              ──▶ Daemon    (our own binaries, with captured logs)     ┘
//!              ──▶ FaultProxy, ConnectProxy between any two of them; TlsProxy (nginx, Envoy) before a hub
//!              ──▶ Node      (kubelet, containerd, … in namespaces: real pods)
//!              ──▶ MetricsApi behind the API server of a Cluster
//!              ──▶ ScriptedHub in the place of a hub, for messages that a real one does not send
//!              ══pipe══▶ guardian: when the pipe closes, kills every Daemon and removes every file
//! ```
//!
//! Servers are real; only peers that must misbehave are scripted. Every process that a test starts ends with the test
//! process, however that ends.

mod guardian;

mod binary;
mod daemon;
mod port;

mod certificates;
mod cluster;
mod connect_proxy;
mod database;
mod fault_proxy;
mod metrics_api;
mod node;
mod small_disk;
mod tls_listener;
mod tls_proxy;

mod eventually;

mod converged;
mod scripted_hub;
mod stack;

pub use binary::binary;
pub use certificates::{Certificates, Identity};
pub use cluster::{Backup, Cluster, ClusterBuilder, ContainerLog, Kubectl, testenv};
pub use connect_proxy::{ConnectProxy, Manners};
pub use converged::{KindToCompare, assert_converged, compare};
pub use daemon::Daemon;
pub use database::{Database, Engine};
pub use eventually::{Attempt, PATIENCE, eventually};
pub use fault_proxy::{FaultProxy, Traffic};
pub use guardian::scratch;
pub use metrics_api::MetricsApi;
pub use node::{Node, NodeImage};
pub use port::free_port;
pub use scripted_hub::{AgentMessage, HubScript, ScriptedHub};
pub use small_disk::SmallDisk;
pub use stack::{AgentProcess, HubProcess, Operated, Operations, StoredObject, Watch, WatchEvent};
pub use tls_proxy::{TlsProxy, TlsProxyKind, TlsProxyOptions};
