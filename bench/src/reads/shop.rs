//! Simulated API servers with one application: server groups in some twenty clusters of Spinnaker's, their pods, and a
//! service for each of these clusters.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, anyhow};
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use serde_json::{Value, json};
use spindrift_playground::{Body, Cluster, ConnectionClosed, Key, Layer, Next, Playground, RequestBody};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::scratch;
use tempfile::TempDir;

use crate::pods;

pub(crate) const KINDS: [&str; 3] = ["ReplicaSet", "Pod", "Service"];
pub(crate) const NAMESPACE: &str = "shop";

/// Clusters of Spinnaker's, each with as many versions as it takes.
const SERVICES: usize = 20;

/// The API servers; gone when dropped.
pub(crate) struct Shop {
    address: SocketAddr,
    names: Vec<String>,
    objects: u64,
    requests: Arc<AtomicU64>,
    kubeconfig: TempDir,
    shutdown: Shutdown,
}

/// Counter of the requests to an API server.
struct Counter(Arc<AtomicU64>);

// === impl Shop ===

impl Shop {
    pub(crate) async fn open(clusters: usize, groups: usize, pods: usize) -> anyhow::Result<Self> {
        let playground = Playground::bind("127.0.0.1:0".parse()?).await?;
        let requests = Arc::new(AtomicU64::new(0));
        let all: Vec<_> = (0..clusters).map(|number| Cluster::new(format!("cluster-{number:02}"))).collect();
        let mut objects = 0;
        for cluster in &all {
            cluster.set_layer(Some(Arc::new(Counter(requests.clone()))));
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
            create(cluster, namespace)?;
            for number in 0..SERVICES {
                create(cluster, service(number))?;
            }
            // And the one of the API server itself.
            objects += SERVICES + 1;
        }
        for (group, cluster) in (0..groups).zip(all.iter().cycle()) {
            let owner = create(cluster, replica_set(group, pods / groups))?;
            for number in 0..pods / groups {
                add_pod(cluster, &owner, group, group * (pods / groups) + number)?;
            }
            objects += 1 + pods / groups;
        }
        let names = all.iter().map(|cluster| cluster.name().to_owned()).collect();
        for cluster in all {
            playground.add(cluster);
        }
        let shutdown = Shutdown::new();
        playground.start(&shutdown);
        let kubeconfig = scratch("shop")?;
        std::fs::write(kubeconfig.path().join("config"), playground.kubeconfig())?;
        let objects = u64::try_from(objects)?;
        Ok(Self { address: playground.address(), names, objects, requests, kubeconfig, shutdown })
    }

    pub(crate) fn objects(&self) -> u64 {
        self.objects
    }

    pub(crate) fn clusters(&self) -> usize {
        self.names.len()
    }

    /// Number of requests to the API servers.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The clusters as accounts of an agent.
    pub(crate) fn accounts(&self) -> anyhow::Result<Value> {
        let kubeconfig = self.kubeconfig.path().join("config");
        let kubeconfig = kubeconfig.to_str().context("a path that is no text")?;
        let account = |name: &String| json!({"name": name, "kubeconfigFile": kubeconfig, "context": name});
        Ok(self.names.iter().map(account).collect())
    }

    /// Where the API servers answer.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.names.iter().map(|name| format!("http://{}/clusters/{name}", self.address)).collect()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.shutdown.token().cancel();
    }
}

// === impl Counter ===

impl Layer for Counter {
    fn handle(
        &self,
        request: Request<RequestBody>,
        next: Next,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionClosed>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        async move { Ok(next.run(request).await) }.boxed()
    }
}

fn create(cluster: &Cluster, object: Value) -> anyhow::Result<Value> {
    cluster.create(object).map_err(|status| anyhow!("the shop is refused: {status:?}"))
}

fn service(number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": format!("shop-{number:02}"), "namespace": NAMESPACE,
            "annotations": {"moniker.spinnaker.io/application": "shop"}},
        "spec": {"selector": {"lb": format!("shop-{number:02}")}, "ports": [{"port": 80}]}})
}

fn replica_set(number: usize, pods: usize) -> Value {
    let (cluster, version) = (number % SERVICES, number / SERVICES);
    let name = format!("shop-{cluster:02}-v{version:03}");
    let labels = json!({"lb": format!("shop-{cluster:02}"), "app": name});
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "shop:1"}]}});
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": {
            "moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/sequence": version.to_string(),
            "moniker.spinnaker.io/cluster": format!("replicaSet shop-{cluster:02}")}},
        "spec": {"replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": template}})
}

/// A pod as long as real ones are, which runs.
fn add_pod(cluster: &Cluster, owner: &Value, group: usize, number: usize) -> anyhow::Result<()> {
    let (mut pod, status) = pods::sample(number, NAMESPACE);
    let owner_name =
        owner.pointer("/metadata/name").and_then(Value::as_str).context("an owner without a name")?;
    let name = format!("{owner_name}-{number:05}");
    pod["metadata"]["name"] = name.clone().into();
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner_name,
        "uid": owner.pointer("/metadata/uid"), "controller": true}]);
    pod["metadata"]["labels"]["lb"] = format!("shop-{:02}", group % SERVICES).into();
    create(cluster, pod)?;
    let key = Key::new("", "pods", NAMESPACE, &name);
    let running = cluster.update(&key, |pod| pod["status"] = status);
    running.map(drop).map_err(|status| anyhow!("a pod does not run: {status:?}"))
}
