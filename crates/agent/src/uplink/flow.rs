//! Where scopes put their items: bounded by credit, so that a slow hub makes the watches stop reading.
//!
//! ```text
//! scope ──▶ recall (what the hub has is only mentioned) ──▶ credit of the account ──▶ room of the agent ──▶ batches
//!                                    given back by the acknowledgement ──┘               └── given back when sent
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

pub use credit::{Credit, Hold, Meter};
use known_objects::Recall;

use crate::metrics::Metrics;

/// The way from the scopes of an account to its batches.
///
/// An item takes credit of its account when it is put in, and gives it back when its batch is acknowledged: that bounds
/// what waits for the hub. It also takes room, of which the whole agent has little, until it is on the connection: that
/// bounds what a slow hub costs in memory, however many accounts there are. An account of which nothing waits need not
/// wait for room, so that one that is stuck never blocks another.
#[derive(Debug, Clone)]
pub struct Outlet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    recall: Option<Recall>,
    credit: Arc<Credit>,
    room: Arc<Credit>,
    /// Items of this account that are in the room.
    queued: Arc<AtomicUsize>,
    /// First come, first served: a large object is not overtaken by small ones for ever.
    turn: Mutex<()>,
    items_tx: mpsc::UnboundedSender<Credited>,
    metrics: Arc<Metrics>,
}

/// What an attachment begins with.
#[derive(Debug)]
pub struct OutletOptions {
    /// How many bytes may be unacknowledged.
    pub credit_bytes: u32,
    /// Whether the hub tells what it has.
    pub fingerprints: bool,
    /// What the whole agent may hold back.
    pub room: Arc<Credit>,
    /// The agent's counters.
    pub metrics: Arc<Metrics>,
}

/// An item with what it holds.
#[derive(Debug)]
pub struct Credited {
    /// The item.
    pub item: Item,
    /// About how many bytes it has on the wire.
    pub bytes: usize,
    /// Dropped when it is acknowledged.
    pub credit: Hold,
    /// Dropped when it is sent.
    pub place: Place,
}

/// An item's place in the agent's memory.
#[derive(Debug)]
pub struct Place {
    queued: Arc<AtomicUsize>,
    _room: Hold,
}

// === impl Outlet ===

impl Outlet {
    /// An outlet for an attachment. The channel needs no bound of its own: credit is one.
    pub fn new(options: OutletOptions) -> (Self, mpsc::UnboundedReceiver<Credited>) {
        let OutletOptions { credit_bytes, fingerprints, room, metrics } = options;
        let (items_tx, items_rx) = mpsc::unbounded_channel();
        let shared = Shared {
            recall: fingerprints.then(Recall::default),
            credit: Credit::new(credit_bytes as usize, metrics.lag.clone()),
            room,
            queued: Arc::default(),
            turn: Mutex::new(()),
            items_tx,
            metrics,
        };
        (Self { shared: Arc::new(shared) }, items_rx)
    }

    /// Puts an item in as soon as there is credit and room for it; one larger than all credit passes alone.
    pub async fn send(&self, item: Item) {
        let Shared { recall, credit, room, queued, turn, items_tx, metrics } = &*self.shared;
        let item = match recall {
            Some(recall) => recall.shorten(item).await,
            None => item,
        };
        let bytes = flow::cost(&item);
        let entry = async {
            let _turn = turn.lock().await;
            let credit = credit.take(bytes, || false).await;
            let room = room.take(bytes, || queued.load(Ordering::Acquire) == 0).await;
            queued.fetch_add(1, Ordering::AcqRel);
            (credit, Place { queued: queued.clone(), _room: room })
        };
        let mut entry = std::pin::pin!(entry);
        let (credit, place) = if let Some(entered) = entry.as_mut().now_or_never() {
            entered
        } else {
            let since = Instant::now();
            let entered = entry.await;
            metrics.stalled(since.elapsed());
            entered
        };
        // A channel without a reader is an attachment that is over: its watches are about to be dropped, and what they
        // still say is of no use.
        items_tx.send(Credited { item, bytes, credit, place }).ok();
    }

    /// The hub gives the account another credit.
    pub fn set_credit(&self, bytes: u32) {
        self.shared.credit.set_limit(bytes as usize);
    }

    /// The hub tells what it has of a scope that is being listed.
    pub fn tell(&self, known: Known) {
        if let Some(recall) = &self.shared.recall {
            recall.answer(known);
        }
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        // Before the room is given back, which wakes those who look at this.
        self.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
