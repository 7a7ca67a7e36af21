use std::time::Duration;

use spindrift_kubernetes::{
    Api, ApiError, ApiOptions, Credentials, Event, ListStart, Status, WatchStart, WatchTarget,
};
use spindrift_testkit::Cluster;

use crate::support::{INITIAL, LONG, config_map, connect, core, listing, next, next_change};

/// Long enough for an API server that is well.
const SHORT: Duration = Duration::from_secs(3);

/// Why a watch fails, whether at once or by its first event.
async fn failure(api: &Api, target: &WatchTarget, start: WatchStart) -> anyhow::Result<Status> {
    match api.watch(target, start, LONG).await {
        Ok(mut events) => match next_change(&mut events).await? {
            Event::Error(status) => Ok(status),
            event => anyhow::bail!("unexpected: {event:?}"),
        },
        Err(ApiError::Refused { source, .. }) => Ok(*source),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn a_forgotten_version_is_gone() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("gone").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let (_, version) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    for name in ["a", "b", "c"] {
        config_map(&cluster, &namespace, name).await?;
    }
    let mut pages = api.list(&target, ListStart { not_older_than: None, page_size: 1 });
    assert!(matches!(next(&mut pages).await?, Event::Object(_)));
    config_map(&cluster, &namespace, "d").await?;

    cluster.compact().await?;
    cluster.restart_api_server().await?;

    assert!(failure(&api, &target, WatchStart::Resume(version)).await?.is_gone());
    let late = next(&mut pages).await.expect_err("the token of the second page has expired");
    assert!(late.downcast_ref::<ApiError>().is_some_and(ApiError::is_gone), "{late:?}");

    cluster.stop_api_server();
    let error = api.version().await.unwrap_err();
    assert!(matches!(error, ApiError::Send { .. }) && error.status().is_none(), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_version_of_the_future_is_too_large() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("future").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let future = Some("999999999".into());
    let start = ListStart { not_older_than: future.clone(), page_size: 10 };
    let error = next(&mut api.list(&target, start)).await.expect_err("there is no such version yet");
    let error = error.downcast::<ApiError>()?;
    assert!(error.is_too_large_resource_version() && error.retry_after().is_some(), "{error:?}");
    let status = failure(&api, &target, WatchStart::InitialEvents { not_older_than: future }).await?;
    assert!(status.is_too_large_resource_version(), "{status}");

    let (_, present) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    assert!(api.has_reached(&target, &present).await?);
    assert!(!api.has_reached(&target, &"999999999".into()).await?);
    Ok(())
}

#[tokio::test]
async fn a_forbidden_request_is_reported_as_such() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let admin = connect(cluster.kubeconfig()).await?;
    let stranger = connect(&cluster.kubeconfig_for("nosy")?).await?;
    let namespace = cluster.namespace("private").await?;
    let mut target = core(&admin, "ConfigMap", &namespace).await?;
    let status = failure(&stranger, &target, INITIAL).await?;
    assert!(status.is_forbidden() && status.message.contains("nosy"), "{status}");

    target.resource.plural = "nothings".into();
    assert!(failure(&admin, &target, INITIAL).await?.is_not_found());
    Ok(())
}

#[tokio::test]
async fn a_frozen_api_server_does_not_hold_a_question_forever() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let credentials = Credentials::Kubeconfig { path: cluster.kubeconfig().to_owned(), context: None };
    let options = ApiOptions { request_timeout: Some(SHORT), no_proxy: true, ..ApiOptions::default() };
    let api = Api::connect(&credentials, &options).await?;
    let namespace = cluster.namespace("ice").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = api.watch(&target, INITIAL, SHORT).await?;
    listing(&mut events).await?;

    cluster.freeze_api_server()?;
    let (question, stream) = tokio::join!(api.version(), async {
        loop {
            if let Err(error) = next(&mut events).await {
                return error.downcast::<ApiError>();
            }
        }
    });
    assert!(matches!(question, Err(ApiError::TimedOut { .. })), "{question:?}");
    assert!(matches!(stream?, ApiError::TimedOut { .. }));
    Ok(())
}
