//! A metrics API of the test's own, served through the cluster's API server as that of a metrics server is.
//!
//! ```text
//! kubectl top ─▶ kube-apiserver ─ APIService v1beta1.metrics.k8s.io ─▶ Service (an external name) ─▶ MetricsApi
//! ```

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::tls_listener::TlsListener;

/// Serves the usage of pods and nodes that a test sets; ends when it is dropped.
pub struct MetricsApi {
    measured: Measured,
    _server: JoinSet<()>,
}

/// `PodMetrics` and `NodeMetrics`.
type Measured = Arc<RwLock<Vec<Value>>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selection {
    #[serde(default)]
    label_selector: String,
}

const SERVICE: &str = "metrics";
const NAMESPACE: &str = "kube-system";
const API_SERVICE: &str = "v1beta1.metrics.k8s.io";
const API_VERSION: &str = "metrics.k8s.io/v1beta1";
const ROOT: &str = "/apis/metrics.k8s.io/v1beta1";

// === impl MetricsApi ===

impl MetricsApi {
    /// Starts the server, registers it with the cluster, and waits until the API server has found it.
    pub async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let certificates = cluster.certificates();
        let identity = certificates.server(&format!("{SERVICE}.{NAMESPACE}.svc"))?;
        let listener = TlsListener::bind(&identity).await?;
        let port = listener.port()?;
        let measured = Measured::default();
        let mut server = JoinSet::new();
        let router = routes(Arc::clone(&measured));
        server.spawn(async move {
            // It goes on until it is aborted.
            axum::serve(listener, router).await.ok();
        });

        let authority =
            std::fs::read(certificates.authority()).context("read the authority's certificate")?;
        let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
            {
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": SERVICE, "namespace": NAMESPACE },
                "spec": { "type": "ExternalName", "externalName": "localhost" },
            },
            {
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": { "name": API_SERVICE },
                "spec": {
                    "group": "metrics.k8s.io", "version": "v1beta1",
                    "groupPriorityMinimum": 100, "versionPriority": 100,
                    "caBundle": BASE64_STANDARD.encode(authority),
                    "service": { "name": SERVICE, "namespace": NAMESPACE, "port": port },
                },
            },
        ] });
        cluster.kubectl_stdin(&["apply", "-f", "-"], &objects.to_string()).await?;
        let available = ["wait", "apiservice", API_SERVICE, "--for=condition=Available", "--timeout=120s"];
        cluster.kubectl(&available).await.context("wait for the metrics API")?;
        Ok(Self { measured, _server: server })
    }

    /// Sets the usage of a pod's containers: name, CPU and memory of each.
    pub fn measure_pod(
        &self,
        namespace: &str,
        name: &str,
        labels: &Value,
        containers: &[(&str, &str, &str)],
    ) {
        let container = |(name, cpu, memory): &(&str, &str, &str)| json!({ "name": name, "usage": { "cpu": cpu, "memory": memory } });
        let containers: Vec<_> = containers.iter().map(container).collect();
        let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
        self.measure("PodMetrics", metadata, json!({ "containers": containers }));
    }

    /// Sets the usage of a node.
    pub fn measure_node(&self, name: &str, cpu: &str, memory: &str) {
        let usage = json!({ "usage": { "cpu": cpu, "memory": memory } });
        self.measure("NodeMetrics", json!({ "name": name }), usage);
    }

    fn measure(&self, kind: &str, metadata: Value, mut object: Value) {
        object["apiVersion"] = API_VERSION.into();
        object["kind"] = kind.into();
        object["metadata"] = metadata;
        object["timestamp"] = "2026-01-01T00:00:00Z".into();
        object["window"] = "15s".into();
        self.measured.write().push(object);
    }
}

fn routes(measured: Measured) -> Router {
    Router::new()
        .route(ROOT, get(resources))
        .route(&format!("{ROOT}/pods"), get(pods))
        .route(&format!("{ROOT}/nodes"), get(nodes))
        .route(&format!("{ROOT}/nodes/{{name}}"), get(node))
        .route(&format!("{ROOT}/namespaces/{{namespace}}/pods"), get(pods_of))
        .route(&format!("{ROOT}/namespaces/{{namespace}}/pods/{{name}}"), get(pod))
        .with_state(measured)
}

async fn resources() -> Response {
    let resource = |name: &str, kind: &str, namespaced: bool| {
        json!({
            "name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"],
        })
    };
    answer(&json!({
        "apiVersion": "v1", "kind": "APIResourceList", "groupVersion": API_VERSION,
        "resources": [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
    }))
}

async fn pods(State(measured): State<Measured>, Query(selection): Query<Selection>) -> Response {
    list(&measured, "PodMetrics", None, &selection)
}

async fn pods_of(
    State(measured): State<Measured>,
    Path(namespace): Path<String>,
    Query(selection): Query<Selection>,
) -> Response {
    list(&measured, "PodMetrics", Some(&namespace), &selection)
}

async fn nodes(State(measured): State<Measured>, Query(selection): Query<Selection>) -> Response {
    list(&measured, "NodeMetrics", None, &selection)
}

async fn pod(State(measured): State<Measured>, Path((namespace, name)): Path<(String, String)>) -> Response {
    one(&measured, "PodMetrics", Some(&namespace), &name)
}

async fn node(State(measured): State<Measured>, Path(name): Path<String>) -> Response {
    one(&measured, "NodeMetrics", None, &name)
}

fn list(measured: &Measured, kind: &str, namespace: Option<&str>, selection: &Selection) -> Response {
    let items: Vec<_> = measured
        .read()
        .iter()
        .filter(|object| is_in(object, kind, namespace) && selection.selects(object))
        .cloned()
        .collect();
    answer(
        &json!({ "apiVersion": API_VERSION, "kind": format!("{kind}List"), "metadata": {}, "items": items }),
    )
}

fn one(measured: &Measured, kind: &str, namespace: Option<&str>, name: &str) -> Response {
    let measured = measured.read();
    let mut objects = measured.iter().filter(|object| is_in(object, kind, namespace));
    if let Some(object) = objects.find(|object| object["metadata"]["name"] == name) {
        return answer(object);
    }
    let message = format!("{}.metrics.k8s.io \"{name}\" not found", kind.to_lowercase());
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": message, "reason": "NotFound", "code": 404,
        "details": { "name": name, "group": "metrics.k8s.io", "kind": kind.to_lowercase() },
    });
    (StatusCode::NOT_FOUND, answer(&status)).into_response()
}

fn is_in(object: &Value, kind: &str, namespace: Option<&str>) -> bool {
    object["kind"] == kind && namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
}

fn answer(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

// === impl Selection ===

impl Selection {
    /// By requirements such as `app=web`, which is all that tests ask for.
    fn selects(&self, object: &Value) -> bool {
        self.label_selector
            .split(',')
            .filter_map(|requirement| requirement.split_once('='))
            .all(|(label, value)| object["metadata"]["labels"][label] == value)
    }
}
