//! The pods of the cluster, created as a controller and a kubelet would.

mod manifest;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use manifest::Manifest;

/// Enough to keep the API server busy, and less than it allows.
const IN_FLIGHT: usize = 32;

/// Pods of one page, when all are counted.
const PAGE: usize = 500;

/// All pods of the cluster, numbered from 0.
pub(crate) struct Population {
    client: kube::Client,
    api: Api<Pod>,
    namespace: String,
    size: usize,
}

/// One state of one pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Revision {
    pub(crate) uid: String,
    pub(crate) version: String,
}

/// All that has to be known of a page.
#[derive(Deserialize)]
struct PodPage {
    metadata: PageMetadata,
}

#[derive(Deserialize)]
struct PageMetadata {
    r#continue: Option<String>,
}

/// A pod and its status, as those of a population.
pub(crate) fn sample(number: usize, namespace: &str) -> (Value, Value) {
    let Manifest { name: _, pod, status } = Manifest::new(number, namespace, 0);
    (pod, status)
}

// === impl Population ===

impl Population {
    /// No pods yet, and a namespace for them.
    pub(crate) async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let namespace = cluster.namespace("shop").await?;
        let client = cluster.client();
        Ok(Self { api: Api::namespaced(client.clone(), &namespace), client, namespace, size: 0 })
    }

    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Creates the missing pods.
    pub(crate) async fn grow_to(&mut self, size: usize) -> anyhow::Result<()> {
        let creations = stream::iter(self.size..size).map(|number| self.create(number));
        let bytes: Vec<usize> = creations.buffer_unordered(IN_FLIGHT).try_collect().await?;
        let average = bytes.iter().sum::<usize>() / bytes.len().max(1);
        eprintln!("{size} pods, the new ones of {average} bytes each");
        self.size = size;
        Ok(())
    }

    /// Creates a pod, has it run, and gives its size.
    async fn create(&self, number: usize) -> anyhow::Result<usize> {
        let Manifest { name, pod, status } = Manifest::new(number, &self.namespace, 0);
        let pod = serde_json::from_value(pod).context("read a manifest")?;
        let controller =
            PostParams { field_manager: Some("kube-controller-manager".into()), ..PostParams::default() };
        self.api.create(&controller, &pod).await.with_context(|| format!("create pod {name}"))?;
        let kubelet = PatchParams { field_manager: Some("kubelet".into()), ..PatchParams::default() };
        let patch = Patch::Strategic(json!({ "status": status }));
        let running = self.api.patch_status(&name, &kubelet, &patch).await;
        let running = running.with_context(|| format!("have pod {name} run"))?;
        Ok(serde_json::to_vec(&running)?.len())
    }

    /// The size of all pods as the API server sends them, `managedFields` included and without compression.
    pub(crate) async fn bytes(&self) -> anyhow::Result<u64> {
        let mut bytes = 0;
        let mut token = String::new();
        loop {
            let path = format!("/api/v1/pods?limit={PAGE}&continue={token}");
            let page = self.client.request_text(Request::get(path).body(Vec::new())?).await?;
            bytes += page.len() as u64;
            match serde_json::from_str::<PodPage>(&page)?.metadata.r#continue {
                Some(next) if !next.is_empty() => token = next,
                _ => return Ok(bytes),
            }
        }
    }

    /// Restarts a pod's container, as a kubelet would report it; returns the size of the pod as above.
    pub(crate) async fn restart(&self, number: usize, restarts: usize) -> anyhow::Result<u64> {
        let Manifest { name, status, .. } = Manifest::new(number, &self.namespace, restarts);
        let path = format!("/api/v1/namespaces/{}/pods/{name}/status?fieldManager=kubelet", self.namespace);
        let request = Request::patch(path)
            .header("content-type", "application/strategic-merge-patch+json")
            .body(serde_json::to_vec(&json!({ "status": status }))?)?;
        let pod = self.client.request_text(request).await;
        Ok(pod.with_context(|| format!("restart pod {name}"))?.len() as u64)
    }

    /// Changes a label of a pod.
    pub(crate) async fn touch(&self, number: usize) -> anyhow::Result<Revision> {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "touched": "yes" } } }));
        let name = manifest::name(number);
        let pod = self.api.patch(&name, &PatchParams::default(), &patch).await;
        let metadata = pod.with_context(|| format!("patch pod {name}"))?.metadata;
        Ok(Revision {
            uid: metadata.uid.context("a pod without a uid")?,
            version: metadata.resource_version.context("a pod without a version")?,
        })
    }
}
