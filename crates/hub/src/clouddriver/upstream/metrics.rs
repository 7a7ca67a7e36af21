//! Metrics of the upstream Clouddriver.

use axum::http::StatusCode;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::client::UpstreamError;

/// Requests to the upstream; clones share the counters.
#[derive(Debug, Clone, Default)]
pub(super) struct UpstreamMetrics {
    /// Requests by outcome.
    requests: Family<[(&'static str, &'static str); 1], Counter>,
    /// 1 if the last request got a response, and before the first one.
    reachable: Gauge,
}

const OUTCOMES: [&str; 5] = ["answered", "failed", "down", "slow", "useless"];

// === impl UpstreamMetrics ===

impl UpstreamMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        for outcome in OUTCOMES {
            drop(self.requests.get_or_create(&[("outcome", outcome)]));
        }
        self.reachable.set(1);
        let registry = registry.sub_registry_with_prefix("spindrift_hub");
        let help = "Requests to the upstream Clouddriver, by outcome";
        registry.register("upstream_requests", help, self.requests.clone());
        let help = "Whether the upstream Clouddriver responded to the last request";
        registry.register("upstream_reachable", help, self.reachable.clone());
    }

    /// Counts a response, or the reason why there is none.
    pub(super) fn count(&self, response: Result<StatusCode, &UpstreamError>) {
        let outcome = match response {
            Ok(status) if status.is_server_error() => "failed",
            Ok(_) => "answered",
            Err(UpstreamError::NotConnected(_) | UpstreamError::Unreachable(_)) => "down",
            Err(UpstreamError::Timeout(_)) => "slow",
            Err(UpstreamError::Invalid(_)) => "useless",
        };
        self.requests.get_or_create(&[("outcome", outcome)]).inc();
        self.reachable.set(response.is_ok().into());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn requests_are_counted_and_the_last_outcome_is_shown() {
        let (metrics, mut registry) = (UpstreamMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        let scrape = || {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text
        };
        let has = |line: &str| assert!(scrape().lines().any(|found| found == line), "{line}: {}", scrape());
        has("spindrift_hub_upstream_reachable 1");
        has(r#"spindrift_hub_upstream_requests_total{outcome="slow"} 0"#);
        metrics.count(Ok(StatusCode::NOT_FOUND));
        has(r#"spindrift_hub_upstream_requests_total{outcome="answered"} 1"#);
        has("spindrift_hub_upstream_reachable 1");
        metrics.count(Err(&UpstreamError::Timeout(Duration::from_secs(1))));
        has(r#"spindrift_hub_upstream_requests_total{outcome="slow"} 1"#);
        has("spindrift_hub_upstream_reachable 0");
        metrics.count(Ok(StatusCode::BAD_GATEWAY));
        has(r#"spindrift_hub_upstream_requests_total{outcome="failed"} 1"#);
        has("spindrift_hub_upstream_reachable 1");
    }
}
