//! One real cluster, and the actors that act on it.

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use spindrift_testkit::{Cluster, eventually};

use crate::{
    actor::Actor,
    foreign_change::ForeignChange,
    kinds::{Kind, custom},
    side::Side,
};

pub(crate) struct Testbed {
    client: Client,
    /// kubectl, and who is compared with it.
    pub(crate) actors: [Actor; 2],
}

/// Answer of the API server to another client; its reason, if it refuses.
type ForeignAnswer = Result<(), String>;

// === impl Testbed ===

impl Testbed {
    pub(crate) fn new(cluster: &Cluster, actors: [Actor; 2]) -> Self {
        Self { client: cluster.client(), actors }
    }

    /// Creates the objects that all cases of some workers need.
    pub(crate) async fn prepare(&self, workers: usize) {
        for definition in custom::definitions() {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.create(path, &definition).await;
        }
        for plural in ["gadgets", "blobs"] {
            let path = format!("/apis/{}/v1/{plural}", custom::GROUP);
            eventually!(format!("{plural} are served"), self.send("GET", &path, &Value::Null).await);
        }
        for side in (0..workers).flat_map(Side::pair) {
            let namespace = json!({ "metadata": { "name": side.namespace() } });
            self.create("/api/v1/namespaces", &namespace).await;
        }
    }

    /// Creates an object that may exist already.
    async fn create(&self, path: &str, object: &Value) {
        match self.send("POST", path, object).await {
            Ok(_) => {}
            Err(reason) => assert_eq!(reason, "AlreadyExists", "{path}"),
        }
    }

    /// The object as it is now; null if there is none.
    pub(crate) async fn object(&self, kind: &Kind, side: &Side, name: &str) -> Value {
        let path = kind.path(side.namespace(), &side.render_text(name));
        match self.send("GET", &path, &Value::Null).await {
            Ok(object) => object,
            Err(reason) if reason == "NotFound" => Value::Null,
            Err(reason) => panic!("{path}: {reason}"),
        }
    }

    /// Changes an object as another client.
    pub(crate) async fn change_as_another_client(
        &self,
        kind: &Kind,
        side: &Side,
        name: &str,
        foreign_change: &ForeignChange,
    ) -> ForeignAnswer {
        match foreign_change {
            ForeignChange::Nothing => Ok(()),
            ForeignChange::Patch(patch) => self.patch(kind, side, name, &side.render(patch)).await,
            ForeignChange::Deletion => {
                self.remove(kind, side, name).await;
                eventually!("the object is gone", self.object(kind, side, name).await.is_null());
                Ok(())
            }
        }
    }

    /// Deletes an object, with its finalizers.
    pub(crate) async fn remove(&self, kind: &Kind, side: &Side, name: &str) {
        let path = kind.path(side.namespace(), &side.render_text(name));
        // The API server itself cleans up behind a definition, by a finalizer of its own.
        let left = match kind.name {
            "CustomResourceDefinition" => json!(["customresourcecleanup.apiextensions.k8s.io"]),
            _ => Value::Null,
        };
        self.patch(kind, side, name, &json!({ "metadata": { "finalizers": left } })).await.ok();
        let options = json!({ "propagationPolicy": "Background", "gracePeriodSeconds": 0 });
        self.send("DELETE", &path, &options).await.ok();
    }

    async fn patch(&self, kind: &Kind, side: &Side, name: &str, change: &Value) -> ForeignAnswer {
        let path = kind.path(side.namespace(), &side.render_text(name));
        self.send("PATCH", &format!("{path}?fieldManager=somebody-else"), change).await.map(drop)
    }

    /// Waits until controllers have seen the object as it is.
    pub(crate) async fn settle(&self, kind: &Kind, side: &Side, name: &str) {
        eventually!(format!("{} {name} is seen by its controller", kind.name), {
            let object = self.object(kind, side, name).await;
            let has_controller = ["Deployment", "StatefulSet", "DaemonSet"].contains(&kind.name);
            !has_controller || object["status"]["observedGeneration"] == object["metadata"]["generation"]
        });
    }

    /// Whether there is something that controllers made for the object.
    pub(crate) async fn has_children(&self, side: &Side, name: &str) -> bool {
        let (namespace, prefix) = (side.namespace(), format!("{}-", side.render_text(name)));
        for path in [
            format!("/apis/apps/v1/namespaces/{namespace}/replicasets"),
            format!("/api/v1/namespaces/{namespace}/pods"),
        ] {
            let list = self.send("GET", &path, &Value::Null).await.unwrap();
            let mut names =
                list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str());
            if names.any(|name| name.is_some_and(|name| name.starts_with(&prefix))) {
                return true;
            }
        }
        false
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let sort = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
        let request =
            Request::builder().method(method).uri(path).header("content-type", sort).body(bytes).unwrap();
        match self.client.request(request).await {
            Ok(object) => Ok(object),
            Err(kube::Error::Api(status)) => Err(status.reason.clone()),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}
