//! What a scrape shows of the Clouddriver behind this hub.

use axum::http::StatusCode;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::client::Silence;

/// What came of asking it; clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    /// Requests, by what came of them.
    requests: Family<[(&'static str, &'static str); 1], Counter>,
    /// Whether it answered when it was last asked; before that, nothing is wrong.
    reachable: Gauge,
}

const OUTCOMES: [&str; 5] = ["answered", "failed", "down", "slow", "useless"];

// === impl Metrics ===

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        for outcome in OUTCOMES {
            drop(self.requests.get_or_create(&[("outcome", outcome)]));
        }
        self.reachable.set(1);
        let registry = registry.sub_registry_with_prefix("spindrift_hub");
        let help = "Requests to the Clouddriver behind this hub, by what came of them";
        registry.register("upstream_requests", help, self.requests.clone());
        let help = "Whether the Clouddriver behind this hub answered when it was last asked";
        registry.register("upstream_reachable", help, self.reachable.clone());
    }

    /// Counts an answer, or why there was none.
    pub(super) fn count(&self, answer: Result<StatusCode, &Silence>) {
        let outcome = match answer {
            Ok(status) if status.is_server_error() => "failed",
            Ok(_) => "answered",
            Err(Silence::Down(_)) => "down",
            Err(Silence::Slow(_)) => "slow",
            Err(Silence::Useless(_)) => "useless",
        };
        self.requests.get_or_create(&[("outcome", outcome)]).inc();
        self.reachable.set(answer.is_ok().into());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_it_was_asked_is_counted_and_whether_it_answered_last() {
        let (metrics, mut registry) = (Metrics::default(), Registry::default());
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
        metrics.count(Err(&Silence::Slow(Duration::from_secs(1))));
        has(r#"spindrift_hub_upstream_requests_total{outcome="slow"} 1"#);
        has("spindrift_hub_upstream_reachable 0");
        metrics.count(Ok(StatusCode::BAD_GATEWAY));
        has(r#"spindrift_hub_upstream_requests_total{outcome="failed"} 1"#);
        has("spindrift_hub_upstream_reachable 1");
    }
}
