//! State of the cluster itself: whether it is at rest, and the names of its pods.

use std::time::Duration;

use kube::{
    Client,
    api::{Api, DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use spindrift_testkit::{Cluster, eventually};

/// An object that controllers still work on changes in less than this.
const REST: Duration = Duration::from_millis(300);

pub(crate) struct ClusterState {
    client: Client,
}

/// Kinds that controllers write after an operation.
const KINDS: [(&str, &str, &str); 7] = [
    ("", "v1", "Pod"),
    ("apps", "v1", "Deployment"),
    ("apps", "v1", "ReplicaSet"),
    ("apps", "v1", "StatefulSet"),
    ("apps", "v1", "DaemonSet"),
    ("batch", "v1", "Job"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"),
];

// === impl ClusterState ===

impl ClusterState {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self { client: cluster.client() }
    }

    /// Waits until controllers have finished their work.
    pub(crate) async fn at_rest(&self) {
        eventually!("the cluster is at rest", {
            let before = self.versions().await;
            tokio::time::sleep(REST).await;
            before == self.versions().await
        });
    }

    /// The first pod whose name begins so, in any namespace.
    pub(crate) async fn pod(&self, prefix: &str) -> Option<String> {
        let mut names: Vec<_> =
            self.list(KINDS[0]).await.into_iter().filter_map(|pod| pod.metadata.name).collect();
        names.sort_unstable();
        names.into_iter().find(|name| name.starts_with(prefix))
    }

    async fn versions(&self) -> Vec<Option<String>> {
        let mut versions = Vec::new();
        for kind in KINDS {
            versions.extend(self.list(kind).await.into_iter().map(|object| object.metadata.resource_version));
        }
        versions
    }

    async fn list(&self, (group, version, kind): (&str, &str, &str)) -> Vec<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        objects.list(&ListParams::default()).await.unwrap().items
    }
}
