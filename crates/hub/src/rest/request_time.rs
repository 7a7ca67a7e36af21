//! Durations of requests, by route.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;
use utoipa::openapi::OpenApi;

use crate::metrics::Metrics;

/// Observes the durations of described routes.
#[derive(Debug, Clone)]
pub(super) struct RequestTime {
    metrics: Arc<Metrics>,
    /// Paths of the routes, those with fewer parameters first.
    routes: Arc<[String]>,
}

/// Observes the time until the head of the response; bodies may be streams.
pub(super) async fn observe(State(times): State<RequestTime>, request: Request, next: Next) -> Response {
    let route = times.route(request.uri().path()).map(str::to_owned);
    let method = request.method().to_string();
    let began = Instant::now();
    let response = next.run(request).await;
    // A method that the route does not have could be any text.
    if let Some(route) = route.filter(|_| response.status() != StatusCode::METHOD_NOT_ALLOWED) {
        let labels = [("method", method), ("route", route)];
        times.metrics.request_time.get_or_create(&labels).observe(began.elapsed().as_secs_f64());
    }
    response
}

// === impl RequestTime ===

impl RequestTime {
    pub(super) fn new(metrics: Arc<Metrics>, description: &OpenApi) -> Self {
        let mut routes: Vec<String> = description.paths.paths.keys().cloned().collect();
        routes.sort_by_key(|route| route.matches('{').count());
        Self { metrics, routes: routes.into() }
    }

    /// Finds the route of a path. Values of parameters are without number, so the route has their names.
    fn route(&self, path: &str) -> Option<&str> {
        self.routes.iter().map(String::as_str).find(|route| is_of(path, route))
    }
}

fn is_of(path: &str, route: &str) -> bool {
    let (mut path, mut route) = (path.split('/'), route.split('/'));
    loop {
        match (path.next(), route.next()) {
            (None, None) => return true,
            (Some(_), Some(parameter)) if parameter.starts_with('{') => {}
            (Some(segment), Some(expected)) if segment == expected => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_of_a_route_with_any_values_of_its_parameters() {
        for (path, route, expected) in [
            ("/v1/accounts", "/v1/accounts", true),
            ("/v1/accounts/eu-west/operations", "/v1/accounts/{account}/operations", true),
            ("/v1/accounts/eu-west", "/v1/accounts", false),
            ("/v1/accounts", "/v1/accounts/{account}", false),
            ("/v1/agents/x", "/v1/accounts/{account}", false),
        ] {
            assert_eq!(is_of(path, route), expected, "{path} of {route}");
        }
    }
}
