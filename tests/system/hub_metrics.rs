//! Metrics and probes of the hub.

use reqwest::StatusCode;
use serde_json::json;
use spindrift_testkit::{Cluster, Database, eventually};

use crate::support::{LONG, Stack};

#[tokio::test(flavor = "multi_thread")]
async fn accounts_routes_commits_connections_and_the_build_are_measured() {
    let cluster = Cluster::shared().await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["Namespace"]).await;
    stack.synced("main").await;
    stack.hub.get("/v1/objects?account=main").await.unwrap();
    stack.hub.get("/v1/operations/none").await.ok();
    let metrics = stack.hub.text("/metrics").await.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        "\nspindrift_account_lag_seconds{account=\"main\"} ",
        "\nspindrift_account_freshness_seconds{account=\"main\"} ",
        "\nspindrift_hub_account_lag_max_seconds ",
        "\nspindrift_hub_rest_request_seconds_count{method=\"GET\",route=\"/v1/objects\"} ",
        "\nspindrift_hub_rest_request_seconds_count{method=\"GET\",route=\"/v1/operations/{id}\"} ",
        "\nspindrift_hub_commit_seconds_count ",
        "\nspindrift_hub_database_connections{pool=\"writers\",state=\"used\"} ",
        "\nspindrift_hub_database_connections{pool=\"readers\",state=\"idle\"} ",
        "\nspindrift_hub_database_connections_max{pool=\"writers\"} 1\n",
        &format!("\nspindrift_build_info{{program=\"spindrift-hub\",version=\"{version}\"}} 1\n"),
    ] {
        assert!(metrics.contains(line), "{line:?} is missing in {metrics}");
    }
    assert!(!metrics.contains("spindrift_hub_commit_seconds_count 0\n"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_makes_a_hub_unready_and_leaves_it_alive() {
    let database = Database::postgres_dedicated().await.unwrap();
    let stack = Stack::with_accounts(database, &["Namespace"], json!([])).await;
    let status = async |path: &str| {
        let response = reqwest::get(format!("{}{path}", stack.hub.url())).await.unwrap();
        response.status()
    };
    let all = ["/health", "/health/readiness", "/health/liveness"];
    for path in all {
        eventually!("it is ready", LONG, status(path).await == StatusCode::OK);
    }
    stack.database.stop().await.unwrap();
    for path in ["/health", "/health/readiness"] {
        eventually!("it is not ready", LONG, status(path).await == StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(status("/health/liveness").await, StatusCode::OK);
    stack.database.start().await.unwrap();
    for path in all {
        eventually!("it is ready again", LONG, status(path).await == StatusCode::OK);
    }
}
