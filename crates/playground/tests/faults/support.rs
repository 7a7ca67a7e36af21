//! A cluster behind faults, and the agent's Kubernetes client.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    Api, ApiError, ApiOptions, Credentials, Event, EventStream, WatchStart, WatchTarget,
};
use spindrift_model::{Resource, ResourceVersion};
use spindrift_playground::{
    Cluster, Faults, Key, Timing,
    fleet::{self, Content, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::PATIENCE;
use tempfile::TempDir;
use tokio::time::timeout;

pub(crate) const LONG: Duration = Duration::from_mins(2);
pub(crate) const INITIAL: WatchStart = WatchStart::InitialEvents { not_older_than: None };

pub(crate) struct Stage {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) api: Api,
    /// URL of the cluster's API.
    pub(crate) url: String,
    _shutdown: Shutdown,
    _files: TempDir,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let shutdown = Shutdown::new();
        let options =
            FleetOptions { content: Content::Empty { timing: Timing::FAST }, ..FleetOptions::shops(1) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("kubeconfig");
        std::fs::write(&path, fleet.kubeconfig()).unwrap();
        let credentials = Credentials::Kubeconfig { path, context: None };
        let options = ApiOptions { no_proxy: true, ..ApiOptions::default() };
        let api = Api::connect(&credentials, &options).await.unwrap();
        let cluster = Arc::clone(&fleet.clusters[0]);
        let faults = Faults::before(&cluster);
        let url = fleet.playground.url(cluster.name());
        Self { cluster, faults, api, url, _shutdown: shutdown, _files: files }
    }

    pub(crate) fn create(&self, name: &str) {
        self.cluster.create(config_map(name, "first")).unwrap();
    }

    pub(crate) fn change(&self, name: &str, value: &str) {
        self.cluster.update(&key(name), |it| it["data"]["key"] = value.into()).unwrap();
    }

    pub(crate) fn delete(&self, name: &str) {
        self.cluster.delete(&key(name)).unwrap();
    }

    /// Opens a watch from the beginning; returns it after the initial objects.
    pub(crate) async fn watch(&self) -> (EventStream, ResourceVersion) {
        let mut events = self.api.watch(&config_maps(), INITIAL, LONG).await.unwrap();
        loop {
            match next(&mut events).await {
                Some(Ok(Event::Bookmark { resource_version, initial_events_end: true })) => {
                    return (events, resource_version);
                }
                Some(Ok(_)) => {}
                other => panic!("no listing: {other:?}"),
            }
        }
    }
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "default" });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "key": value } })
}

fn key(name: &str) -> Key {
    Key::new("", "configmaps", "default", name)
}

/// The config maps of the default namespace.
pub(crate) fn config_maps() -> WatchTarget {
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    WatchTarget::new(resource, Some("default".into()))
}

pub(crate) async fn next(events: &mut EventStream) -> Option<Result<Event, ApiError>> {
    timeout(PATIENCE, events.next()).await.expect("something must come, if only the end")
}

/// Returns the name of the next object, and the events before it.
pub(crate) async fn next_object(events: &mut EventStream) -> (Vec<Event>, String) {
    let mut before = Vec::new();
    loop {
        match next(events).await {
            Some(Ok(Event::Object(object))) => return (before, object.name.to_string()),
            Some(Ok(event)) => before.push(event),
            other => panic!("no object: {other:?} after {before:?}"),
        }
    }
}
