//! Metrics endpoint and process metrics.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

mod process;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Registers metrics of the operating system about this process: memory, CPU, file descriptors, start.
pub fn register_process(registry: &mut Registry) {
    registry.register_collector(Box::new(process::ProcessCollector));
}

/// Registers `spindrift_build_info`, which names the program and its version.
pub fn register_build(registry: &mut Registry, program: &'static str, version: &'static str) {
    let labels = [("program", program), ("version", version)];
    registry.register("spindrift_build", "Program and version", Info::new(labels));
}

/// Serves the registry at `/metrics`, and at `/prometheus_metrics` where monitors of the original look.
pub fn router(registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/metrics", get(scrape))
        .route("/prometheus_metrics", get(scrape))
        .with_state(registry)
}

async fn scrape(State(registry): State<Arc<Registry>>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => {
            tracing::warn!(%error, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use prometheus_client::metrics::counter::Counter;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn both_paths_show_our_metrics_and_the_process() {
        let mut registry = Registry::default();
        register_process(&mut registry);
        register_build(&mut registry, "spindrift-hub", "1.2.3");
        let counter: Counter = Counter::default();
        registry.register("kubesvc_connection", "Connections made", counter.clone());
        counter.inc();
        let router = router(Arc::new(registry));

        for path in ["/metrics", "/prometheus_metrics"] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.headers()[header::CONTENT_TYPE], OPEN_METRICS);
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            for line in [
                "kubesvc_connection_total 1\n",
                "\nspindrift_build_info{program=\"spindrift-hub\",version=\"1.2.3\"} 1\n",
                "# TYPE process_resident_memory_bytes gauge\n",
                "\nprocess_virtual_memory_bytes ",
                "\nprocess_virtual_memory_max_bytes ",
                "\nprocess_cpu_seconds_total ",
                "\nprocess_open_fds ",
                "\nprocess_max_fds ",
                "\nprocess_start_time_seconds ",
                "# EOF\n",
            ] {
                assert!(text.contains(line), "{line:?} is missing in {text}");
            }
        }
    }
}
