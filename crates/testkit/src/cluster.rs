//! A real Kubernetes: etcd, API server and, if wanted, the controllers that make pods run.
//!
//! ```text
//! etcd ◀── kube-apiserver ◀── kube-controller-manager, kube-scheduler, kwok (a kubelet that only pretends)
//!                         ◀── tests: client(), kubectl(), kubeconfig()
//! ```

mod access;
mod api_server;
mod builder;
mod container_log;
mod controllers;
mod etcd;
mod kubectl;
mod testenv;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::OnceCell;

use access::Access;
use api_server::ApiServer;
pub use builder::ClusterBuilder;
use builder::Parts;
pub use container_log::ContainerLog;
use controllers::Controllers;
pub use etcd::Backup;
use etcd::Etcd;
pub use kubectl::Kubectl;
pub use testenv::path as testenv;

use crate::certificates::Certificates;

/// A running cluster; dropping it ends its processes and removes its data.
// The order of the fields is the order of their end: a part goes before the parts that it depends on.
pub struct Cluster {
    controllers: Option<Controllers>,
    api_server: ApiServer,
    etcd: Arc<Etcd>,
    kubectl: Kubectl,
    access: Access,
    /// Parts of which it consists.
    recipe: ClusterBuilder,
}

// === impl Cluster ===

impl Cluster {
    /// Starts a cluster on which pods run; [`ClusterBuilder::bare`] starts quicker.
    pub async fn start() -> anyhow::Result<Self> {
        Self::builder().start().await
    }

    /// Chooses the parts of a cluster.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::default()
    }

    /// The bare cluster that all tests of this process share: use a [`Cluster::namespace`] and leave its
    /// processes alone.
    pub async fn shared() -> anyhow::Result<&'static Self> {
        // Never dropped: the guardian cleans it up.
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_try_init(|| Self::builder().bare().start()).await
    }

    /// Starts another cluster with the same parts on the same etcd, which is cheaper than one of its own.
    pub async fn sibling(&self) -> anyhow::Result<Self> {
        Self::start_on(Arc::clone(&self.etcd), self.recipe.clone()).await
    }

    async fn start_on(etcd: Arc<Etcd>, recipe: ClusterBuilder) -> anyhow::Result<Self> {
        let testenv = testenv::path().await?;
        let api_server = ApiServer::new(testenv, &etcd)?;
        let access = Access::new(api_server.certificates(), api_server.addr()).await?;
        api_server.start(&access).await.context("start the API server")?;
        let kubectl = Kubectl::new(testenv, access.kubeconfig())?;
        let controllers = match recipe.parts {
            Parts::Bare => None,
            Parts::Controllers => {
                Some(Controllers::start(testenv, &api_server, &access, &kubectl, &recipe.logs).await?)
            }
        };
        Ok(Self { controllers, api_server, etcd, kubectl, access, recipe })
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        self.access.kubeconfig()
    }

    /// Writes the kubeconfig of a user who may do nothing until a test grants it.
    ///
    /// A bare cluster has no controller that fills the roles `view`, `edit` and `admin`: make a role there.
    pub fn kubeconfig_for(&self, user: &str) -> anyhow::Result<PathBuf> {
        self.access.kubeconfig_for(self.api_server.certificates(), user)
    }

    /// Writes an administrator's kubeconfig that takes the way through a proxy.
    pub fn kubeconfig_via(&self, proxy: SocketAddr) -> anyhow::Result<PathBuf> {
        self.access.kubeconfig_via(proxy)
    }

    /// The authority that the API server trusts, and that all trust who talk to it.
    pub(crate) fn certificates(&self) -> &Certificates {
        self.api_server.certificates()
    }

    /// A new client of the administrator's; new, because a client belongs to the runtime of one test.
    pub fn client(&self) -> kube::Client {
        self.access.client()
    }

    /// Where the API server listens.
    pub fn addr(&self) -> SocketAddr {
        self.api_server.addr()
    }

    /// The API server's base address, without a trailing slash.
    pub fn url(&self) -> String {
        access::url(self.addr())
    }

    /// Runs the real kubectl as administrator and returns its output; the error contains its stderr.
    pub async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.kubectl.run(args, "").await
    }

    /// Runs kubectl with an input, as for `apply -f -`.
    pub async fn kubectl_stdin(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        self.kubectl.run(args, input).await
    }

    /// Creates a namespace that no other test uses. In a bare cluster it can never be deleted completely.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<String> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let name = format!("{prefix}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        let namespaces: Api<Namespace> = Api::all(self.client());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .with_context(|| format!("create namespace {name}"))?;
        Ok(name)
    }

    /// Lets all containers of a name write a line; if their log is that of every container, all others, too.
    pub fn write_log(&self, container: &str, line: &str) -> anyhow::Result<()> {
        let controllers = self.controllers.as_ref().context("on a bare cluster no containers run")?;
        controllers.logs().append(container, line)
    }

    /// Ends the API server the hard way: on SIGTERM it would drain for long.
    pub fn stop_api_server(&self) {
        self.api_server.stop();
    }

    /// Starts the API server again, with the same port, certificates and data.
    pub async fn start_api_server(&self) -> anyhow::Result<()> {
        self.api_server.start(&self.access).await
    }

    /// Stops and starts the API server.
    pub async fn restart_api_server(&self) -> anyhow::Result<()> {
        self.stop_api_server();
        self.start_api_server().await
    }

    /// Halts the API server: connections stay open and are accepted, nothing is answered.
    pub fn freeze_api_server(&self) -> anyhow::Result<()> {
        self.api_server.freeze()
    }

    /// Lets a frozen API server go on.
    pub fn thaw_api_server(&self) -> anyhow::Result<()> {
        self.api_server.thaw()
    }

    /// Copies the whole store, of siblings too. The API server is stopped meanwhile.
    pub async fn back_up(&self) -> anyhow::Result<Backup> {
        self.stop_api_server();
        let backup = self.etcd.back_up().await?;
        self.start_api_server().await?;
        Ok(backup)
    }

    /// Restores the store: objects return, others vanish, and versions go backwards.
    pub async fn restore(&self, backup: &Backup) -> anyhow::Result<()> {
        self.stop_api_server();
        self.etcd.restore(backup).await?;
        self.start_api_server().await
    }

    /// Compacts etcd's history before now, of siblings too.
    ///
    /// Watches see 410 only after [`Cluster::restart_api_server`]: until then the API server's watch cache
    /// has the history.
    pub async fn compact(&self) -> anyhow::Result<()> {
        self.etcd.compact().await
    }
}
