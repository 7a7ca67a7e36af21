//! The definition that the facts about custom resources use: two served versions, status and scale.

use serde_json::{Value, json};

use crate::support::Server;

pub(super) const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind of a group that no other test uses.
pub(super) struct Widgets {
    pub(super) group: String,
    /// Path of the collection in the test's namespace.
    pub(super) path: String,
}

/// Defines widgets and waits until they are served.
pub(super) async fn define(server: &Server) -> anyhow::Result<Widgets> {
    let group = format!("{}.example.com", server.namespace());
    server.post(PATH, definition(&group)).ok().await?;
    let path = server.named(&format!("{group}/v1"), "widgets");
    for path in [path.clone(), format!("/apis/{group}/v1alpha1")] {
        server
            .until("widgets are served", || server.get(path.clone()).answer(), |answer| answer.code == 200)
            .await;
    }
    Ok(Widgets { group, path })
}

pub(super) fn definition(group: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"},
                "replicas": {"type": "integer"},
                "color": {"type": "string", "default": "blue"},
            }},
            "status": {"type": "object", "properties": {
                "replicas": {"type": "integer"},
                "selector": {"type": "string"},
            }},
        },
    });
    let scale = json!({
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    });
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "plural": "widgets", "singular": "widget", "kind": "Widget",
                "shortNames": ["wd"], "categories": ["all"],
            },
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                },
                {"name": "v1alpha1", "served": true, "storage": false, "schema": {"openAPIV3Schema": anything}},
                {"name": "v0", "served": false, "storage": false, "schema": {"openAPIV3Schema": anything}},
            ],
        },
    })
}

// === impl Widgets ===

impl Widgets {
    pub(super) fn object(&self, name: &str) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Widget", "metadata": {"name": name},
            "spec": {"size": 3, "replicas": 2},
        })
    }

    pub(super) fn named(&self, rest: &str) -> String {
        format!("{}/{rest}", self.path)
    }
}
