//! Faults of requests.

use std::time::Duration;

use futures::TryStreamExt;
use spindrift_kubernetes::{ApiError, Event, ListStart};
use spindrift_playground::{Effect, Fault, MalformedBody, Verb};
use spindrift_testkit::eventually;
use tokio::{task::JoinSet, time::Instant};

use crate::support::{Stage, config_maps};

async fn list(stage: &Stage, page_size: u32) -> Result<Vec<Event>, ApiError> {
    let start = ListStart { not_older_than: None, page_size };
    stage.api.list(&config_maps(), start).try_collect().await
}

#[tokio::test]
async fn a_cut_gives_no_answer_until_it_is_lifted() {
    let stage = Stage::set().await;
    let cut = stage.faults.inject(Fault::new(Effect::Cut));
    assert!(matches!(stage.api.version().await, Err(ApiError::Send { .. })));
    stage.faults.lift(cut);
    stage.api.version().await.unwrap();
}

#[tokio::test]
async fn a_frozen_request_is_answered_when_the_fault_is_over() {
    let stage = Stage::set().await;
    let freeze = stage.faults.inject(Fault::new(Effect::Freeze));
    let api = stage.api.clone();
    let mut asking = JoinSet::new();
    asking.spawn(async move { api.version().await });
    eventually!("the request is frozen", stage.faults.hits(freeze) == Some(1));
    assert!(asking.try_join_next().is_none(), "it was answered");
    stage.faults.lift(freeze);
    asking.join_next().await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_status_is_answered_so_many_times() {
    let stage = Stage::set().await;
    let retry_after = Some(Duration::from_secs(7));
    stage.faults.inject(Fault::new(Effect::Status { code: 429, retry_after }).times(2));
    for _ in 0..2 {
        let refused = stage.api.version().await.unwrap_err();
        assert_eq!((refused.status().unwrap().code, refused.retry_after()), (429, retry_after));
    }
    stage.api.version().await.unwrap();
}

#[tokio::test]
async fn a_fault_hits_only_what_it_is_for() {
    let stage = Stage::set().await;
    let status = Effect::Status { code: 503, retry_after: None };
    stage.faults.inject(Fault::new(status).of_verbs([Verb::List]).of_resource("configmaps"));
    assert_eq!(list(&stage, 10).await.unwrap_err().status().unwrap().code, 503);
    stage.api.version().await.unwrap();
    stage.api.namespaces().await.unwrap();
    stage.watch().await;
}

#[tokio::test]
async fn later_pages_of_a_list_are_gone_when_history_is_forgotten() {
    let stage = Stage::set().await;
    for name in ["a", "b", "c"] {
        stage.create(name);
    }
    stage.faults.inject(Fault::new(Effect::ExpireHistory));
    assert!(list(&stage, 1).await.unwrap_err().is_gone());
    assert!(list(&stage, 100).await.is_ok(), "a list of one page needs no history");
}

#[tokio::test]
async fn slow_bodies_take_their_time() {
    let stage = Stage::set().await;
    for number in 0..40 {
        stage.create(&format!("map-{number}"));
    }
    let whole = list(&stage, 100).await.unwrap();
    stage.faults.inject(Fault::new(Effect::Slow { bytes_per_second: 20_000 }));
    let started = Instant::now();
    assert_eq!(list(&stage, 100).await.unwrap(), whole);
    // Forty config maps have more than eight thousand bytes.
    assert!(started.elapsed() > Duration::from_millis(300), "{:?}", started.elapsed());
}

#[tokio::test]
async fn odd_lists_are_not_understood_and_large_ones_are() {
    let stage = Stage::set().await;
    stage.create("a");
    for odd in [MalformedBody::Truncated, MalformedBody::WrongTypes, MalformedBody::Garbage] {
        let fault = stage.faults.inject(Fault::new(Effect::Malformed(odd)));
        let failed = list(&stage, 10).await.unwrap_err();
        assert!(matches!(failed, ApiError::Malformed { .. } | ApiError::Read { .. }), "{odd:?}: {failed:?}");
        stage.faults.lift(fault);
    }
    let whole = list(&stage, 10).await.unwrap();
    stage.faults.inject(Fault::new(Effect::Malformed(MalformedBody::Huge { bytes: 3_000_000 })));
    assert_eq!(list(&stage, 10).await.unwrap(), whole);
}

/// Sends a request that accepts gzip.
async fn get(stage: &Stage, path: &str) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("{}{path}", stage.url)).header("accept-encoding", "gzip");
    request.send().await.unwrap()
}

#[tokio::test]
async fn what_is_odd_is_not_compressed() {
    let stage = Stage::set().await;
    stage.create("large");
    stage.change("large", &"x".repeat(200_000));
    let path = "/api/v1/configmaps";
    assert!(get(&stage, path).await.headers().contains_key("content-encoding"), "it is large enough");
    stage.faults.inject(Fault::new(Effect::Malformed(MalformedBody::Garbage)));
    let odd = get(&stage, path).await;
    assert_eq!(odd.headers().get("content-encoding"), None);
    assert!(serde_json::from_slice::<serde_json::Value>(&odd.bytes().await.unwrap()).is_err());
}

#[tokio::test]
async fn a_watch_can_be_asked_for_with_any_timeout() {
    let stage = Stage::set().await;
    let path = format!("/api/v1/configmaps?watch=true&timeoutSeconds={}", i64::MAX);
    assert_eq!(get(&stage, &path).await.status(), 200);
}
