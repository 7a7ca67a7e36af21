//! Flow control of the items of an attached account: without credit from the hub, its watches stop reading.
//!
//! ```text
//! scope ──▶ known objects (only mentioned) ──▶ credit of the account ──▶ send budget of the agent ──▶ batches
//!                            freed by the acknowledgement ──┘                └── freed when sent
//! ```

mod credit;
mod known_objects;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::FutureExt;
use spindrift_model::Item;
use spindrift_protocol::{Known, flow};
use tokio::{
    sync::{Mutex, mpsc},
    time::Instant,
};

pub use credit::{Credit, CreditHold, UsageGauges};
use known_objects::KnownObjects;

use crate::metrics::Metrics;

/// Path of items from the scopes of an attached account to its batches.
///
/// An item takes credit of its account when it is sent here, and frees it when its batch is acknowledged: that bounds
/// the items that wait for the hub. It also takes a part of the send budget, which all accounts of the agent share, until
/// it is on the connection: that bounds the memory that a slow hub costs, however many accounts there are. An account
/// without queued items need not wait for the send budget, so that an account that is stuck never blocks another.
#[derive(Debug, Clone)]
pub struct FlowControl {
    state: Arc<FlowState>,
}

#[derive(Debug)]
struct FlowState {
    known_objects: Option<KnownObjects>,
    credit: Arc<Credit>,
    send_budget: Arc<Credit>,
    /// Number of items of this account that hold a part of the send budget.
    queued: Arc<AtomicUsize>,
    /// First come, first served: small objects cannot overtake a large one for ever.
    order: Mutex<()>,
    items_tx: mpsc::UnboundedSender<CreditedItem>,
    metrics: Arc<Metrics>,
}

/// Parameters of the flow control of one attachment.
#[derive(Debug)]
pub struct FlowOptions {
    /// Number of bytes that may be unacknowledged.
    pub credit_bytes: u32,
    /// Set if the hub sends fingerprints of its objects when a list begins.
    pub fingerprints: bool,
    /// Bytes that all accounts of the agent may have read and not sent.
    pub send_budget: Arc<Credit>,
    /// Metrics of the agent.
    pub metrics: Arc<Metrics>,
}

/// An item with the credit and the part of the send budget that it holds.
#[derive(Debug)]
pub struct CreditedItem {
    /// The item.
    pub item: Item,
    /// Cost of the item in credit, which is about its size on the wire.
    pub bytes: usize,
    /// Dropped when the item is acknowledged.
    pub credit: CreditHold,
    /// Dropped when the item is sent.
    pub reservation: SendReservation,
}

/// Part of the send budget that an item holds until it is sent.
#[derive(Debug)]
pub struct SendReservation {
    queued: Arc<AtomicUsize>,
    _send_budget: CreditHold,
}

// === impl FlowControl ===

impl FlowControl {
    /// Returns the flow control of an attachment, and its items. The channel needs no bound of its own: credit is one.
    pub fn new(options: FlowOptions) -> (Self, mpsc::UnboundedReceiver<CreditedItem>) {
        let FlowOptions { credit_bytes, fingerprints, send_budget, metrics } = options;
        let (items_tx, items_rx) = mpsc::unbounded_channel();
        let state = FlowState {
            known_objects: fingerprints.then(KnownObjects::default),
            credit: Credit::new(credit_bytes as usize, metrics.lag.clone()),
            send_budget,
            queued: Arc::default(),
            order: Mutex::new(()),
            items_tx,
            metrics,
        };
        (Self { state: Arc::new(state) }, items_rx)
    }

    /// Queues an item as soon as credit and send budget allow it. An item larger than the whole credit passes alone.
    pub async fn send(&self, item: Item) {
        let FlowState { known_objects, credit, send_budget, queued, order, items_tx, metrics } = &*self.state;
        let item = match known_objects {
            Some(known_objects) => known_objects.replace_known(item).await,
            None => item,
        };
        let bytes = flow::cost(&item);
        let reserve = async {
            let _order = order.lock().await;
            let credit = credit.take(bytes, || false).await;
            let held = send_budget.take(bytes, || queued.load(Ordering::Acquire) == 0).await;
            queued.fetch_add(1, Ordering::AcqRel);
            (credit, SendReservation { queued: queued.clone(), _send_budget: held })
        };
        let mut reserve = std::pin::pin!(reserve);
        let (credit, reservation) = if let Some(reserved) = reserve.as_mut().now_or_never() {
            reserved
        } else {
            let since = Instant::now();
            let reserved = reserve.await;
            metrics.stalled(since.elapsed());
            reserved
        };
        // Without a receiver the attachment has ended: its watches are about to be dropped, and their items are of no use.
        items_tx.send(CreditedItem { item, bytes, credit, reservation }).ok();
    }

    /// Changes the credit of the account.
    pub fn set_credit(&self, bytes: u32) {
        self.state.credit.set_limit(bytes as usize);
    }

    /// Adds fingerprints of objects that the hub has of a scope whose list has begun.
    pub fn add_known(&self, known: Known) {
        if let Some(known_objects) = &self.state.known_objects {
            known_objects.add(known);
        }
    }
}

// === impl SendReservation ===

impl Drop for SendReservation {
    fn drop(&mut self) {
        // Before the budget is freed, which wakes those that look at this.
        self.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
