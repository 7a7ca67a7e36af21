//! The peer: the same deploy straight to the API server, by a client that has computed the patch already.

use std::time::Duration;

use anyhow::Context;
use http::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Mode, manifest};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(super) struct Peer {
    client: kube::Client,
    namespace: String,
}

// === impl Peer ===

impl Peer {
    pub(super) fn new(client: kube::Client, namespace: String) -> Self {
        Self { client, namespace }
    }

    pub(super) async fn deploy(&self, mode: Mode, object: usize, turn: usize) -> anyhow::Result<Duration> {
        let name = format!("peer-{}-{object}", mode.name());
        let manifest = manifest(&self.namespace, &name, turn);
        match mode {
            Mode::ClientSide => self.client_side(&name, manifest, turn).await,
            Mode::ServerSide => self.server_side(&name, &manifest).await,
        }
        .with_context(|| format!("deploy {name} straight to the API server"))
    }

    /// Reads the object, and patches the difference.
    async fn client_side(&self, name: &str, mut manifest: Value, turn: usize) -> anyhow::Result<Duration> {
        let collection = format!("/apis/apps/v1/namespaces/{}/deployments", self.namespace);
        let object = format!("{collection}/{name}");
        let last_applied = json!({ LAST_APPLIED: manifest.to_string() });
        let patch = json!({
            "metadata": { "annotations": last_applied },
            "spec": { "template": { "spec": {
                "$setElementOrder/containers": [{ "name": "app" }, { "name": "proxy" }],
                "containers": [{ "name": "app", "image": format!("shop:{turn}") }],
            } } },
        });
        if turn == 0 {
            manifest["metadata"]["annotations"] = last_applied;
            self.send("POST", &collection, "application/json", &manifest).await?;
        }
        let begun = Instant::now();
        self.send("GET", &object, "application/json", &Value::Null).await?;
        self.send("PATCH", &object, "application/strategic-merge-patch+json", &patch).await?;
        Ok(begun.elapsed())
    }

    async fn server_side(&self, name: &str, manifest: &Value) -> anyhow::Result<Duration> {
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments/{name}?fieldManager=bench&force=true&fieldValidation=Strict",
            self.namespace
        );
        let begun = Instant::now();
        self.send("PATCH", &path, "application/apply-patch+yaml", manifest).await?;
        Ok(begun.elapsed())
    }

    /// The answer is received, and not looked at.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        sort: &str,
        body: &Value,
    ) -> anyhow::Result<()> {
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
        let request = Request::builder().method(method).uri(path).header("content-type", sort).body(body)?;
        self.client.request_text(request).await?;
        Ok(())
    }
}
