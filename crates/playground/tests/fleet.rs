//! Fleets, and their identity across restarts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::{fs, time::Duration};

use futures::{StreamExt, TryStreamExt};
use spindrift_kubernetes::{Api, ApiOptions, Credentials, Event, ListStart, WatchStart, WatchTarget};
use spindrift_model::{Resource, ResourceVersion};
use spindrift_playground::fleet::{self, Fleet, FleetOptions};
use spindrift_process::shutdown::Shutdown;
use tempfile::TempDir;

struct Run {
    fleet: Fleet,
    files: TempDir,
    shutdown: Shutdown,
}

impl Run {
    async fn start(clusters: usize, identity: u64) -> Self {
        let shutdown = Shutdown::new();
        let options = FleetOptions { identity: Some(identity), ..FleetOptions::shops(clusters) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let files = tempfile::tempdir().unwrap();
        fs::write(files.path().join("kubeconfig"), fleet.kubeconfig()).unwrap();
        Self { fleet, files, shutdown }
    }

    async fn connect(&self, cluster: &str) -> Api {
        let path = self.files.path().join("kubeconfig");
        let credentials = Credentials::Kubeconfig { path, context: Some(cluster.to_owned()) };
        Api::connect(&credentials, &ApiOptions { no_proxy: true, ..ApiOptions::default() }).await.unwrap()
    }

    async fn stop(self) {
        self.shutdown.trigger();
        self.shutdown.wait(Duration::from_secs(5)).await.unwrap();
    }
}

fn deployments() -> WatchTarget {
    let resource = Resource {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        plural: "deployments".into(),
        namespaced: true,
    };
    WatchTarget::new(resource, None)
}

async fn version(api: &Api) -> ResourceVersion {
    let start = ListStart { not_older_than: None, page_size: 500 };
    let events: Vec<_> = api.list(&deployments(), start).try_collect().await.unwrap();
    assert!(events.len() > 5, "there is no shop: {events:?}");
    match events.last() {
        Some(Event::Bookmark { resource_version, .. }) => resource_version.clone(),
        other => panic!("no end of a list: {other:?}"),
    }
}

#[tokio::test]
async fn a_fleet_that_comes_back_is_known_again_and_has_forgotten_the_past() {
    let first = Run::start(2, 7).await;
    assert_eq!(first.fleet.names().collect::<Vec<_>>(), ["eu-west", "us-east"]);
    let api = first.connect("eu-west").await;
    let (identity, told) = (api.identity().await.unwrap(), version(&api).await);
    let other = first.connect("us-east").await.identity().await.unwrap();
    assert_ne!(identity.uid, other.uid);
    first.stop().await;

    let second = Run::start(2, 7).await;
    let api = second.connect("eu-west").await;
    assert_eq!(api.identity().await.unwrap().uid, identity.uid);
    assert!(api.has_reached(&deployments(), &told).await.unwrap(), "versions went back");
    let resumed = api.watch(&deployments(), WatchStart::Resume(told), Duration::from_mins(1)).await;
    let gone = match resumed {
        Err(error) => error.is_gone(),
        Ok(mut events) => {
            let event = events.next().await.unwrap().unwrap();
            matches!(event, Event::Error(status) if status.is_gone())
        }
    };
    assert!(gone, "a version of the run before is resumed");
    second.stop().await;

    let third = Run::start(1, 8).await;
    assert_ne!(third.connect("eu-west").await.identity().await.unwrap().uid, identity.uid);
    third.stop().await;
}

#[tokio::test]
async fn the_watches_of_a_client_share_a_connection() {
    let run = Run::start(2, 7).await;
    for cluster in ["eu-west", "us-east"] {
        let api = run.connect(cluster).await;
        let mut watches = Vec::new();
        for _ in 0..50 {
            let start = WatchStart::InitialEvents { not_older_than: None };
            let mut events = api.watch(&deployments(), start, Duration::from_mins(1)).await.unwrap();
            assert!(matches!(events.next().await, Some(Ok(Event::Object(_)))));
            watches.push(events);
        }
        assert_eq!((api.stats().streams, api.stats().connections), (50, 1));
    }
    run.stop().await;
}
