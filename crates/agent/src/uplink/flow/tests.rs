use bytes::Bytes;
use prometheus_client::registry::Registry;
use spindrift_model::{ScopeId, Upsert};

use super::*;
use crate::status::AgentStatus;

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
    Arc::new(Metrics::register(&mut Registry::default(), AgentStatus::default()))
}

fn flow(
    credit_bytes: u32,
    send_budget: &Arc<Credit>,
) -> (FlowControl, mpsc::UnboundedReceiver<CreditedItem>) {
    FlowControl::new(FlowOptions {
        credit_bytes,
        fingerprints: false,
        send_budget: send_budget.clone(),
        metrics: metrics(),
    })
}

fn ample() -> Arc<Credit> {
    Credit::new(usize::MAX, UsageGauges::default())
}

#[tokio::test]
async fn without_credit_nothing_more_is_read_until_a_batch_is_acknowledged() {
    let (flow, mut items_rx) = flow(1000, &ample());
    flow.send(upsert(500)).await;
    let mut second = Box::pin(flow.send(upsert(500)));
    assert!(second.as_mut().now_or_never().is_none(), "the credit is used up");
    let CreditedItem { credit, reservation, .. } = items_rx.recv().await.unwrap();
    drop(reservation);
    assert!(second.as_mut().now_or_never().is_none(), "it is sent, and not acknowledged");
    drop(credit);
    assert!(second.as_mut().now_or_never().is_some(), "the credit is freed");
}

#[tokio::test]
async fn an_object_larger_than_all_credit_passes_alone() {
    let (flow, mut items_rx) = flow(1000, &ample());
    flow.send(upsert(5000)).await;
    assert!(flow.send(upsert(1)).now_or_never().is_none());
    drop(items_rx.recv().await);
    flow.send(upsert(1)).await;
}

#[tokio::test]
async fn a_large_object_is_not_overtaken_for_ever() {
    let (flow, mut items_rx) = flow(2000, &ample());
    flow.send(upsert(500)).await;
    let mut large = Box::pin(flow.send(upsert(5000)));
    assert!(large.as_mut().now_or_never().is_none(), "it waits until it is alone");
    let mut small = Box::pin(flow.send(upsert(1)));
    assert!(small.as_mut().now_or_never().is_none(), "there is credit, but it is not its turn");
    drop(items_rx.recv().await);
    assert!(large.as_mut().now_or_never().is_some());
}

#[tokio::test]
async fn an_account_that_is_stuck_uses_up_the_send_budget_and_blocks_no_other() {
    let send_budget = Credit::new(1000, UsageGauges::default());
    let (stuck, _unread_rx) = flow(100_000, &send_budget);
    stuck.send(upsert(500)).await;
    assert!(
        stuck.send(upsert(500)).now_or_never().is_none(),
        "it has credit, but the send budget is used up"
    );
    let (other, mut items_rx) = flow(100_000, &send_budget);
    other.send(upsert(500)).await;
    assert!(
        other.send(upsert(500)).now_or_never().is_none(),
        "one at a time, since the send budget is used up"
    );
    let sent = items_rx.recv().await.unwrap();
    drop(sent.reservation);
    other.send(upsert(500)).await;
}

#[tokio::test]
async fn a_wait_for_credit_is_counted() {
    let (flow, mut items_rx) = flow(1000, &ample());
    flow.send(upsert(500)).await;
    assert_eq!(flow.state.metrics.window_stalls.get(), 0);
    let ((), ()) = tokio::join!(flow.send(upsert(500)), async { drop(items_rx.recv().await) });
    assert_eq!(flow.state.metrics.window_stalls.get(), 1);
}
