//! Writers: they create, change and delete objects of every size, up to the limit of an API server.

mod definition;
mod gate;

use std::{
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kube::{
    Api, Client, Config,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::ApiResource,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

pub(crate) use definition::Definition;
pub(crate) use gate::Gate;

/// A cluster that is written to, past all faults between it and the agents.
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) changes: AtomicU64,
    /// Those of a megabyte or more.
    pub(crate) large: AtomicU64,
}

pub(crate) struct Written {
    pub(crate) changes: u64,
    pub(crate) large: u64,
}

pub(crate) struct Writer {
    site: Arc<Site>,
    rng: fastrand::Rng,
}

/// Resource, field of the content, and largest size of the objects of a writer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    ConfigMap,
    Secret,
    /// Only while it is defined.
    Widget,
}

pub(crate) const GROUP: &str = "chaos.example.com";
const NAMESPACE: &str = "default";

/// Objects of each sort; few, so that they change often.
const NAMES: u8 = 30;

/// A change that takes longer is given up: the API server may be frozen.
const CHANGE_LIMIT: Duration = Duration::from_secs(5);

/// Text of which all contents are parts; it cannot be compressed to nothing.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut rng = fastrand::Rng::with_seed(0);
    (0..3_000_000).map(|_| rng.alphanumeric()).collect()
});

// === impl Site ===

impl Site {
    pub(crate) fn new(name: &str, client: Client) -> Self {
        Self { name: name.to_owned(), client, changes: AtomicU64::new(0), large: AtomicU64::new(0) }
    }

    pub(crate) async fn in_context(kubeconfig: &Path, context: &str) -> Self {
        let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        // Loopback, whatever proxy the machine has.
        config.proxy_url = None;
        Self::new(context, Client::try_from(config).unwrap())
    }

    fn api(&self, sort: Sort) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &sort.resource())
    }

    /// Creates an object, or changes it to have this content.
    async fn put(&self, sort: Sort, name: &str, content: &str) -> kube::Result<()> {
        let api = self.api(sort);
        let object = sort.object(name, content);
        match api.patch(name, &PatchParams::default(), &Patch::Merge(&object)).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
                api.create(&PostParams::default(), &object).await?;
            }
            other => drop(other?),
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.large.fetch_add(u64::from(content.len() >= 1_000_000), Ordering::Relaxed);
        Ok(())
    }

    async fn delete(&self, sort: Sort, name: &str) -> kube::Result<()> {
        self.api(sort).delete(name, &DeleteParams::default()).await?;
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(site: Arc<Site>, seed: u64) -> Self {
        Self { site, rng: fastrand::Rng::with_seed(seed) }
    }

    /// Writes whenever the gate is open.
    pub(crate) async fn run(mut self, gate: Arc<Gate>) {
        loop {
            let passing = gate.pass().await;
            // A write that fails during a fault, or whose object is missing, is skipped.
            timeout(CHANGE_LIMIT, self.change()).await.ok();
            drop(passing);
            sleep(Duration::from_millis(self.rng.u64(5..60))).await;
        }
    }

    async fn change(&mut self) -> kube::Result<()> {
        let sort = [Sort::ConfigMap, Sort::ConfigMap, Sort::Secret, Sort::Widget][self.rng.usize(..4)];
        let name = format!("chaos-{}", self.rng.u8(..NAMES));
        if self.rng.u8(..4) == 0 {
            return self.site.delete(sort, &name).await;
        }
        let size = self.size(sort.most());
        let begin = self.rng.usize(..TEXT.len() - size);
        self.site.put(sort, &name, &TEXT[begin..begin + size]).await
    }

    /// Mostly small, sometimes of any magnitude, now and then all that fits.
    fn size(&mut self, most: usize) -> usize {
        match self.rng.u8(..100) {
            0..2 => most,
            2..10 => (1 << self.rng.u32(12..20)) + self.rng.usize(..4096),
            _ => self.rng.usize(..4096),
        }
    }
}

// === impl Sort ===

impl Sort {
    fn resource(self) -> ApiResource {
        let (group, kind, plural) = match self {
            Self::ConfigMap => ("", "ConfigMap", "configmaps"),
            Self::Secret => ("", "Secret", "secrets"),
            Self::Widget => (GROUP, "Widget", "widgets"),
        };
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let (group, version) = (group.into(), "v1".into());
        ApiResource { group, version, api_version, kind: kind.into(), plural: plural.into() }
    }

    fn object(self, name: &str, content: &str) -> Value {
        let ApiResource { api_version, kind, .. } = self.resource();
        let mut object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": name, "namespace": NAMESPACE },
        });
        match self {
            Self::ConfigMap => object["data"] = json!({ "content": content }),
            Self::Secret => object["stringData"] = json!({ "content": content }),
            Self::Widget => object["spec"] = json!({ "content": content }),
        }
        object
    }

    /// Limits of the API server (a megabyte of data) and of etcd (a megabyte and a half in all).
    fn most(self) -> usize {
        match self {
            Self::ConfigMap | Self::Secret => 1 << 20,
            Self::Widget => 1_500_000,
        }
    }
}
