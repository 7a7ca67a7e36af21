//! Helpers of the tests.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use futures::StreamExt;
use serde_json::Value;
use spindrift_kubernetes::{
    Api, ApiOptions, Credentials, Event, EventStream, RawObject, WatchStart, WatchTarget,
};
use spindrift_model::{Resource, ResourceVersion};
use spindrift_testkit::{Cluster, PATIENCE};

pub(crate) const LONG: Duration = Duration::from_mins(2);

pub(crate) const INITIAL: WatchStart = WatchStart::InitialEvents { not_older_than: None };

pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<Api> {
    let credentials = Credentials::Kubeconfig { path: kubeconfig.to_owned(), context: None };
    // Loopback needs no proxy, whatever the environment sets.
    Ok(Api::connect(&credentials, &ApiOptions { no_proxy: true, ..ApiOptions::default() }).await?)
}

pub(crate) async fn resource(api: &Api, group: &str, kind: &str) -> anyhow::Result<Resource> {
    let discovery = api.discover().await?;
    let found = discovery.resources.into_iter().find(|found| &*found.group == group && &*found.kind == kind);
    found.with_context(|| format!("{kind}.{group} is not served"))
}

/// All objects of a kind of the core group, in one namespace.
pub(crate) async fn core(api: &Api, kind: &str, namespace: &str) -> anyhow::Result<WatchTarget> {
    Ok(WatchTarget::new(resource(api, "", kind).await?, Some(namespace.into())))
}

pub(crate) async fn next(events: &mut EventStream) -> anyhow::Result<Event> {
    let event = tokio::time::timeout(PATIENCE, events.next()).await.context("no event comes")?;
    Ok(event.context("the stream has ended")??)
}

/// Returns the next event that is not a progress bookmark.
pub(crate) async fn next_change(events: &mut EventStream) -> anyhow::Result<Event> {
    loop {
        match next(events).await? {
            Event::Bookmark { initial_events_end: false, .. } => {}
            event => return Ok(event),
        }
    }
}

/// Returns the objects of the list, sorted by name, and the version of the list.
pub(crate) async fn listing(events: &mut EventStream) -> anyhow::Result<(Vec<RawObject>, ResourceVersion)> {
    let mut objects = Vec::new();
    loop {
        match next_change(events).await? {
            Event::Object(object) => objects.push(object),
            Event::Bookmark { resource_version, .. } => {
                objects.sort_by(|a, b| a.name.cmp(&b.name));
                return Ok((objects, resource_version));
            }
            event => bail!("unexpected: {event:?}"),
        }
    }
}

pub(crate) async fn config_map(cluster: &Cluster, namespace: &str, name: &str) -> anyhow::Result<()> {
    cluster.kubectl(&["-n", namespace, "create", "configmap", name, "--from-literal=key=value"]).await?;
    Ok(())
}

pub(crate) fn names(objects: &[RawObject]) -> Vec<Arc<str>> {
    objects.iter().map(|object| object.name.clone()).collect()
}

pub(crate) fn json(object: &RawObject) -> Value {
    serde_json::from_slice(&object.body).expect("bodies are JSON")
}
