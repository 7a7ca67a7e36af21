//! Faults of open watches.

use spindrift_kubernetes::{Event, WatchStart};
use spindrift_playground::{Effect, Fault, MalformedBody, Verb};
use spindrift_testkit::eventually;

use crate::support::{LONG, Stage, config_maps, next, next_object};

#[tokio::test]
async fn an_open_watch_is_cut() {
    let stage = Stage::set().await;
    let (mut events, _) = stage.watch().await;
    stage.faults.inject(Fault::new(Effect::Cut));
    let broken = next(&mut events).await;
    assert!(matches!(broken, None | Some(Err(_))), "{broken:?}");
}

#[tokio::test]
async fn a_frozen_watch_goes_on_where_it_was() {
    let stage = Stage::set().await;
    let (mut events, _) = stage.watch().await;
    let freeze = stage.faults.inject(Fault::new(Effect::Freeze).of_verbs([Verb::Watch]));
    eventually!("it is frozen", stage.faults.hits(freeze) == Some(1));
    stage.create("a");
    stage.api.version().await.unwrap();
    stage.faults.lift(freeze);
    assert_eq!(next_object(&mut events).await.1, "a");
}

#[tokio::test]
async fn history_is_forgotten_for_open_and_for_resumed_watches() {
    let stage = Stage::set().await;
    let (mut events, version) = stage.watch().await;
    stage.faults.inject(Fault::new(Effect::ExpireHistory));
    let Some(Ok(Event::Error(status))) = next(&mut events).await else { panic!("the open watch goes on") };
    assert!(status.is_gone());
    let resumed = stage.api.watch(&config_maps(), WatchStart::Resume(version), LONG).await;
    let mut resumed = resumed.unwrap();
    let Some(Ok(Event::Error(status))) = next(&mut resumed).await else { panic!("the watch is resumed") };
    assert!(status.is_gone());
    // A watch without a resource version needs no history.
    stage.watch().await;
}

#[tokio::test]
async fn something_that_is_no_event_comes_before_the_next_one() {
    let stage = Stage::set().await;
    for (number, odd) in [MalformedBody::Garbage, MalformedBody::WrongTypes].into_iter().enumerate() {
        let (mut events, _) = stage.watch().await;
        let fault = stage.faults.inject(Fault::new(Effect::Malformed(odd)));
        eventually!("the watch knows", stage.faults.hits(fault) == Some(1));
        let name = format!("map-{number}");
        stage.create(&name);
        let (before, told) = next_object(&mut events).await;
        assert!(matches!(before.as_slice(), [Event::Unparseable { .. }]), "{odd:?}: {before:?}");
        assert_eq!(told, name);
        stage.faults.lift(fault);
    }
}

#[tokio::test]
async fn events_come_twice_or_large_or_not_to_their_end() {
    let stage = Stage::set().await;
    let (mut events, _) = stage.watch().await;
    let twice = stage.faults.inject(Fault::new(Effect::Malformed(MalformedBody::Duplicate)));
    eventually!("the watch knows", stage.faults.hits(twice) == Some(1));
    stage.create("a");
    assert_eq!(next_object(&mut events).await.1, "a");
    assert_eq!(next_object(&mut events).await.1, "a");
    stage.faults.lift(twice);

    let large = stage.faults.inject(Fault::new(Effect::Malformed(MalformedBody::Huge { bytes: 3_000_000 })));
    eventually!("the watch knows", stage.faults.hits(large) == Some(1));
    stage.create("b");
    assert_eq!(next_object(&mut events).await, (vec![], "b".to_owned()));
    stage.faults.lift(large);

    let truncated = stage.faults.inject(Fault::new(Effect::Malformed(MalformedBody::Truncated)));
    eventually!("the watch knows", stage.faults.hits(truncated) == Some(1));
    stage.create("c");
    assert!(next(&mut events).await.is_none(), "the event is told");
}
