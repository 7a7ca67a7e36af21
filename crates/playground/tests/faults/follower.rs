//! A follower like the agent: whatever fails, its objects end up equal to the cluster's.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use parking_lot::Mutex;
use spindrift_kubernetes::{Api, Event, EventStream, WatchStart};
use spindrift_model::ResourceVersion;
use spindrift_playground::{Effect, Fault, MalformedBody};
use spindrift_testkit::eventually;
use tokio::{task::JoinSet, time::sleep};

use crate::support::{INITIAL, LONG, Stage, config_maps};

type Objects = Arc<Mutex<BTreeMap<String, String>>>;

/// Follows until cancelled: lists, watches, resumes watches that ended, and lists again after lost or unparseable
/// events.
async fn follow(api: Api, objects: Objects) {
    let mut version = None;
    loop {
        let start = version.clone().map_or(INITIAL, WatchStart::Resume);
        let listing = version.is_none().then(BTreeMap::new);
        version = match api.watch(&config_maps(), start, LONG).await {
            Ok(events) => read(events, listing, version, &objects).await,
            Err(error) if error.is_gone() => None,
            Err(_) => version,
        };
        // Avoids a busy loop.
        sleep(Duration::from_millis(5)).await;
    }
}

/// Reads a watch to its end; returns the resource version to resume from, if there is one.
async fn read(
    mut events: EventStream,
    mut listing: Option<BTreeMap<String, String>>,
    mut version: Option<ResourceVersion>,
    objects: &Objects,
) -> Option<ResourceVersion> {
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Object(object)) => {
                let (name, told) = (object.name.to_string(), object.resource_version);
                if let Some(listing) = &mut listing {
                    listing.insert(name, told.as_str().to_owned());
                } else {
                    objects.lock().insert(name, told.as_str().to_owned());
                    version = Some(told);
                }
            }
            Ok(Event::Deleted(object)) => {
                objects.lock().remove(&*object.name);
                version = Some(object.resource_version);
            }
            Ok(Event::Bookmark { resource_version, initial_events_end }) => {
                if let (true, Some(listing)) = (initial_events_end, listing.take()) {
                    *objects.lock() = listing;
                }
                version = Some(resource_version);
            }
            Ok(Event::Unparseable { .. } | Event::Error(_)) => return None,
            Err(_) => break,
        }
    }
    if listing.is_some() { None } else { version }
}

#[tokio::test]
async fn whatever_goes_wrong_a_follower_ends_up_right() {
    let stage = Stage::set().await;
    let told = Objects::default();
    let mut followers = JoinSet::new();
    followers.spawn(follow(stage.api.clone(), Arc::clone(&told)));
    let effects = [
        Effect::Cut,
        Effect::Freeze,
        Effect::Status { code: 503, retry_after: None },
        Effect::Status { code: 429, retry_after: Some(Duration::from_secs(1)) },
        Effect::ExpireHistory,
        Effect::Slow { bytes_per_second: 2_000 },
        Effect::Malformed(MalformedBody::Truncated),
        Effect::Malformed(MalformedBody::WrongTypes),
        Effect::Malformed(MalformedBody::Huge { bytes: 100_000 }),
        Effect::Malformed(MalformedBody::Duplicate),
        Effect::Malformed(MalformedBody::Garbage),
    ];
    let mut rng = fastrand::Rng::with_seed(42);
    for round in 0..44 {
        let fault = stage.faults.inject(Fault::new(effects[round % effects.len()].clone()));
        for _ in 0..5 {
            let name = format!("map-{}", rng.u8(..12));
            match rng.u8(..3) {
                0 if !told_by(&stage).contains_key(&name) => stage.create(&name),
                1 if told_by(&stage).contains_key(&name) => stage.delete(&name),
                _ if told_by(&stage).contains_key(&name) => stage.change(&name, &rng.u32(..).to_string()),
                _ => {}
            }
        }
        eventually!("it strikes", stage.faults.hits(fault) > Some(0));
        stage.faults.lift(fault);
    }
    stage.create("last");
    eventually!("the follower has what the cluster has", *told.lock() == told_by(&stage));
}

/// Objects in the cluster itself.
fn told_by(stage: &Stage) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let objects = stage.cluster.list("", "configmaps", Some("default"));
    objects
        .iter()
        .map(|it| (text(&it["metadata"]["name"]), text(&it["metadata"]["resourceVersion"])))
        .collect()
}
