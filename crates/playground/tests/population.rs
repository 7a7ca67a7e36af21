//! Generated pods, as clients see them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use futures::StreamExt;
use spindrift_kubernetes::{
    Api, ApiOptions, Credentials, Event, EventStream, ListStart, WatchStart, WatchTarget,
};
use spindrift_model::Resource;
use spindrift_playground::{
    Collection, Load,
    fleet::{self, Content, Fleet, FleetOptions, Pods},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::eventually;
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(5);
const INITIAL: WatchStart = WatchStart::InitialEvents { not_older_than: None };

struct Source {
    fleet: Fleet,
    api: Api,
    _shutdown: Shutdown,
    _files: TempDir,
}

impl Source {
    async fn start(pods: u32, changes_per_second: f64) -> Self {
        let shutdown = Shutdown::new();
        let load = Load { changes_per_second, churn: 0.2 };
        let content = Content::Pods(Pods { pods, pod_bytes: 12_288, namespaces: 3, load });
        let fleet =
            fleet::start(FleetOptions { content, ..FleetOptions::shops(1) }, &shutdown).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("kubeconfig");
        fs::write(&path, fleet.kubeconfig()).unwrap();
        let options = ApiOptions { no_proxy: true, ..ApiOptions::default() };
        let api = Api::connect(&Credentials::Kubeconfig { path, context: None }, &options).await.unwrap();
        Self { fleet, api, _shutdown: shutdown, _files: files }
    }

    fn expected(&self) -> BTreeMap<String, String> {
        let snapshot = self.fleet.populations[0].snapshot("", None, None).unwrap();
        let version = |object: &[u8]| {
            let pod: serde_json::Value = serde_json::from_slice(object).unwrap();
            pod["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
        };
        snapshot.items.map(|item| (item.path.to_string(), version(&item.object))).collect()
    }
}

fn pods(namespace: Option<&str>) -> WatchTarget {
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        namespaced: true,
    };
    WatchTarget::new(resource, namespace.map(Into::into))
}

/// Applies events until the initial list is complete.
async fn listing(events: &mut EventStream) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    loop {
        match events.next().await.unwrap().unwrap() {
            Event::Object(pod) => {
                let path = format!("{}/{}", pod.namespace, pod.name);
                told.insert(path, pod.resource_version.as_str().to_owned());
            }
            Event::Bookmark { initial_events_end: true, .. } => return told,
            event => panic!("unexpected: {event:?}"),
        }
    }
}

#[tokio::test]
async fn pods_are_listed_in_pages_as_a_stream_and_by_namespace() {
    let source = Source::start(1_500, 0.0).await;
    let expected = source.expected();
    assert_eq!(expected.len(), 1_500);
    let start = ListStart { not_older_than: None, page_size: 250 };
    assert_eq!(listing(&mut source.api.list(&pods(None), start)).await, expected);
    let mut streamed = source.api.watch(&pods(None), INITIAL, LONG).await.unwrap();
    assert_eq!(listing(&mut streamed).await, expected);
    let mut of_namespace = source.api.watch(&pods(Some("load-001")), INITIAL, LONG).await.unwrap();
    let of_namespace = listing(&mut of_namespace).await;
    assert_eq!(of_namespace.len(), 500);
    assert!(of_namespace.keys().all(|path| path.starts_with("load-001/")));
    assert_eq!(source.api.namespaces().await.unwrap().len(), 4 + 3);
}

#[tokio::test]
async fn a_watch_follows_every_change() {
    let source = Source::start(200, 300.0).await;
    let mut events = source.api.watch(&pods(None), INITIAL, LONG).await.unwrap();
    let mut told = listing(&mut events).await;
    let (mut changed, mut deleted) = (0, 0);
    while changed < 300 || deleted < 10 {
        match events.next().await.unwrap().unwrap() {
            Event::Object(pod) => {
                let path = format!("{}/{}", pod.namespace, pod.name);
                told.insert(path, pod.resource_version.as_str().to_owned());
                changed += 1;
            }
            Event::Deleted(pod) => {
                assert!(told.remove(&format!("{}/{}", pod.namespace, pod.name)).is_some());
                deleted += 1;
            }
            Event::Bookmark { .. } => {}
            event => panic!("unexpected: {event:?}"),
        }
    }
    let told = Arc::new(parking_lot::Mutex::new(told));
    let follower = Arc::clone(&told);
    let mut following = tokio::task::JoinSet::new();
    following.spawn(async move {
        while let Some(Ok(event)) = events.next().await {
            match event {
                Event::Object(pod) => {
                    let path = format!("{}/{}", pod.namespace, pod.name);
                    follower.lock().insert(path, pod.resource_version.as_str().to_owned());
                }
                Event::Deleted(pod) => {
                    follower.lock().remove(&format!("{}/{}", pod.namespace, pod.name));
                }
                _ => {}
            }
        }
    });
    eventually!("the watcher has what there is", *told.lock() == source.expected());
}
