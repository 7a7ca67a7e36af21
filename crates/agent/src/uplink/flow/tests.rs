use bytes::Bytes;
use prometheus_client::registry::Registry;
use spindrift_model::{ScopeId, Upsert};

use super::*;
use crate::status::Board;

fn upsert(size: usize) -> Item {
    Item::Upsert(Upsert {
        scope: ScopeId(1),
        namespace: "n".into(),
        name: "a".into(),
        uid: "u".into(),
        resource_version: "1".into(),
        body: Bytes::from(vec![b' '; size]),
    })
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::register(&mut Registry::default(), Board::default()))
}

fn outlet(credit_bytes: u32, room: &Arc<Credit>) -> (Outlet, mpsc::UnboundedReceiver<Credited>) {
    Outlet::new(OutletOptions { credit_bytes, fingerprints: false, room: room.clone(), metrics: metrics() })
}

fn ample() -> Arc<Credit> {
    Credit::new(usize::MAX, Meter::default())
}

#[tokio::test]
async fn without_credit_nothing_more_is_read_until_a_batch_is_acknowledged() {
    let (outlet, mut items_rx) = outlet(1000, &ample());
    outlet.send(upsert(500)).await;
    let mut second = Box::pin(outlet.send(upsert(500)));
    assert!(second.as_mut().now_or_never().is_none(), "the credit is used up");
    let Credited { credit, place, .. } = items_rx.recv().await.unwrap();
    drop(place);
    assert!(second.as_mut().now_or_never().is_none(), "it is sent, and not acknowledged");
    drop(credit);
    assert!(second.as_mut().now_or_never().is_some(), "the credit was given back");
}

#[tokio::test]
async fn an_object_larger_than_all_credit_passes_alone() {
    let (outlet, mut items_rx) = outlet(1000, &ample());
    outlet.send(upsert(5000)).await;
    assert!(outlet.send(upsert(1)).now_or_never().is_none());
    drop(items_rx.recv().await);
    outlet.send(upsert(1)).await;
}

#[tokio::test]
async fn a_large_object_is_not_overtaken_for_ever() {
    let (outlet, mut items_rx) = outlet(2000, &ample());
    outlet.send(upsert(500)).await;
    let mut large = Box::pin(outlet.send(upsert(5000)));
    assert!(large.as_mut().now_or_never().is_none(), "it waits until it is alone");
    let mut small = Box::pin(outlet.send(upsert(1)));
    assert!(small.as_mut().now_or_never().is_none(), "there is credit, but it is not its turn");
    drop(items_rx.recv().await);
    assert!(large.as_mut().now_or_never().is_some());
}

#[tokio::test]
async fn an_account_that_is_stuck_fills_the_room_and_blocks_no_other() {
    let room = Credit::new(1000, Meter::default());
    let (stuck, _unread_rx) = outlet(100_000, &room);
    stuck.send(upsert(500)).await;
    assert!(stuck.send(upsert(500)).now_or_never().is_none(), "it has credit, but the agent has no room");
    let (other, mut items_rx) = outlet(100_000, &room);
    other.send(upsert(500)).await;
    assert!(other.send(upsert(500)).now_or_never().is_none(), "one at a time, since the room is full");
    let sent = items_rx.recv().await.unwrap();
    drop(sent.place);
    other.send(upsert(500)).await;
}

#[tokio::test]
async fn a_wait_for_credit_is_counted() {
    let (outlet, mut items_rx) = outlet(1000, &ample());
    outlet.send(upsert(500)).await;
    assert_eq!(outlet.shared.metrics.window_stalls.get(), 0);
    let ((), ()) = tokio::join!(outlet.send(upsert(500)), async { drop(items_rx.recv().await) });
    assert_eq!(outlet.shared.metrics.window_stalls.get(), 1);
}
