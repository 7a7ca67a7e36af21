//! Collects objects for the training of the compression dictionary, one file for each, as an agent would send it:
//! `make dictionary`.
//!
//! Workloads of many shapes are created in a real Kubernetes, whose controllers, scheduler and kubelet (a simulated
//! one) make pods, replica sets, endpoints and events of them; the playground adds its shop and its generated pods. A
//! seed decides their names: a dictionary must not contain the names of real users.

mod shapes;

use std::{path::Path, time::Duration};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use prost::Message;
use serde_json::json;
use spindrift_kubernetes::{Api, ApiOptions, Credentials, Event, ListStart, WatchTarget};
use spindrift_model::{AccountName, Batch, Cursor, Epoch, Item, ScopeId, Seq, Upsert};
use spindrift_playground::{
    Load,
    fleet::{self, Content, FleetOptions, Pods},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::{EventsUp, v1};
use spindrift_testkit::{Cluster, eventually, scratch};

/// Workloads of the real cluster; each has some ten objects.
const WORKLOADS: u64 = 120;

/// Pods that a kubelet of a real node would show.
const PODS: u64 = 250;

/// Objects of one kind and cluster, so that none drowns the others.
const PER_KIND: usize = 500;

/// Long for a hundred workloads on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().context("expected a directory")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse()).context("expected a number as seed")?;
    std::fs::create_dir_all(&directory).with_context(|| format!("create {directory}"))?;
    let mut written = real(Path::new(&directory), seed).await?;
    written += simulated(Path::new(&directory), seed).await?;
    println!("{written} samples in {directory}");
    Ok(())
}

/// Objects of a real Kubernetes.
async fn real(directory: &Path, seed: u64) -> anyhow::Result<usize> {
    let cluster = Cluster::builder().controllers().start().await?;
    for namespace in shapes::NAMESPACES {
        cluster.kubectl(&["create", "namespace", namespace]).await?;
    }
    let workloads: Vec<_> = (0..WORKLOADS).flat_map(|number| shapes::workload(seed, number)).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": workloads });
    cluster.kubectl_stdin(&["create", "-f", "-"], &list.to_string()).await?;
    let running = ["get", "pods", "-A", "--field-selector=status.phase=Running", "-o", "name"];
    eventually!("pods run", PATIENCE, {
        cluster.kubectl(&running).await.is_ok_and(|names| names.lines().count() > 150)
    });
    let pods = stream::iter(0..PODS).map(|number| run_by_hand(&cluster, seed, number));
    pods.buffer_unordered(8).try_collect::<()>().await?;
    gather(directory, "real", cluster.kubeconfig(), None).await
}

/// Does the work of a controller and a kubelet.
async fn run_by_hand(cluster: &Cluster, seed: u64, number: u64) -> anyhow::Result<()> {
    let (pod, status) = shapes::pod_of_a_kubelet(seed, number);
    let pod: DynamicObject = serde_json::from_value(pod).context("read a pod")?;
    let (name, namespace) = (pod.name_any(), pod.namespace().unwrap_or_default());
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let api: kube::Api<DynamicObject> = kube::Api::namespaced_with(cluster.client(), &namespace, &resource);
    api.create(&PostParams::default(), &pod).await.with_context(|| format!("create pod {name}"))?;
    let patch = Patch::Merge(json!({ "status": status }));
    let running = api.patch_status(&name, &PatchParams::default(), &patch).await;
    running.map(drop).with_context(|| format!("have pod {name} run"))
}

/// Objects of the playground.
async fn simulated(directory: &Path, seed: u64) -> anyhow::Result<usize> {
    let shutdown = Shutdown::new();
    let load = Load { changes_per_second: 0.0, churn: 0.0 };
    let pods = Content::Pods(Pods { pods: 120, pod_bytes: 6_000, namespaces: 3, load });
    let shops = FleetOptions { seed, ..FleetOptions::shops(2) };
    let load = FleetOptions { clusters: 1, content: pods, ..shops.clone() };
    let mut written = 0;
    for (name, options) in [("shop", shops), ("load", load)] {
        let fleet = fleet::start(options, &shutdown).await?;
        let files = scratch("kubeconfig")?;
        let kubeconfig = files.path().join("config");
        std::fs::write(&kubeconfig, fleet.kubeconfig())?;
        for cluster in fleet.names() {
            written += gather(directory, &format!("{name}-{cluster}"), &kubeconfig, Some(cluster)).await?;
        }
    }
    Ok(written)
}

/// Lists everything as an agent does, and writes it as an agent sends it.
async fn gather(
    directory: &Path,
    prefix: &str,
    kubeconfig: &Path,
    context: Option<&str>,
) -> anyhow::Result<usize> {
    let credentials =
        Credentials::Kubeconfig { path: kubeconfig.to_owned(), context: context.map(ToOwned::to_owned) };
    let api = Api::connect(&credentials, &ApiOptions::default()).await?;
    let mut written = 0;
    for resource in api.discover().await?.resources {
        let kind = resource.kind.clone();
        let start = ListStart { not_older_than: None, page_size: 250 };
        let mut events = api.list(&WatchTarget::new(resource, None), start).take(PER_KIND).boxed();
        while let Some(Ok(event)) = events.next().await {
            let Event::Object(object) = event else { continue };
            written += 1;
            let file = directory.join(format!("{prefix}-{kind}-{written}"));
            std::fs::write(file, encoded(object))?;
        }
    }
    Ok(written)
}

fn encoded(object: spindrift_kubernetes::RawObject) -> Vec<u8> {
    let spindrift_kubernetes::RawObject { namespace, name, uid, resource_version, body } = object;
    let upsert = Upsert { scope: ScopeId(1), namespace, name, uid, resource_version, body };
    let batch = Batch {
        account: AccountName::parse("main").expect("a name"),
        cursor: Cursor { epoch: Epoch(1), seq: Seq(1) },
        items: vec![Item::Upsert(upsert)],
    };
    v1::EventsMessage::from(EventsUp::Batch(batch)).encode_to_vec()
}
