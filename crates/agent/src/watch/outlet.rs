//! Where scopes put their items: bounded by the account's credit, so that a slow hub makes the watches stop reading.

use std::sync::Arc;

use spindrift_model::{Item, Upsert};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// What an item costs beside its body: keys, versions, framing.
const OVERHEAD: usize = 256;

/// The way from the scopes of an account to its batches.
///
/// One mechanism bounds both what waits here and what is sent and not acknowledged: an item takes credit when it is
/// put in, and gives it back when its batch is acknowledged.
#[derive(Debug, Clone)]
pub struct Outlet {
    credit: Arc<Semaphore>,
    limit: u32,
    items_tx: mpsc::UnboundedSender<Credited>,
}

/// An item with the credit it holds.
#[derive(Debug)]
pub struct Credited {
    /// The item.
    pub item: Item,
    /// About how many bytes it has on the wire.
    pub bytes: usize,
    /// Given back when dropped.
    pub credit: Option<OwnedSemaphorePermit>,
}

// === impl Outlet ===

impl Outlet {
    /// An outlet for an attachment with this much credit. The channel needs no bound of its own: credit is one.
    pub fn new(credit_bytes: u32) -> (Self, mpsc::UnboundedReceiver<Credited>) {
        let (items_tx, items_rx) = mpsc::unbounded_channel();
        let limit = credit_bytes.max(1);
        let credit = Arc::new(Semaphore::new(limit as usize));
        (Self { credit, limit, items_tx }, items_rx)
    }

    /// Puts an item in as soon as there is credit for it; one larger than all credit takes all of it.
    pub async fn send(&self, item: Item) {
        let bytes = OVERHEAD
            + match &item {
                Item::Upsert(Upsert { body, .. }) => body.len(),
                Item::Declare(declaration) => declaration.scopes.len() * OVERHEAD,
                _ => 0,
            };
        let cost = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.limit);
        // A closed semaphore, or a channel without a reader, is an attachment that is over: its watches are
        // about to be dropped, and what they still say is of no use.
        let credit = self.credit.clone().acquire_many_owned(cost).await.ok();
        self.items_tx.send(Credited { item, bytes, credit }).ok();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::FutureExt;
    use spindrift_model::ScopeId;

    use super::*;

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

    #[tokio::test]
    async fn without_credit_nothing_more_is_read_until_a_batch_is_acknowledged() {
        let (outlet, mut items_rx) = Outlet::new(1000);
        outlet.send(upsert(500)).await;
        let mut second = Box::pin(outlet.send(upsert(500)));
        assert!(second.as_mut().now_or_never().is_none(), "the credit is used up");
        drop(items_rx.recv().await);
        assert!(second.as_mut().now_or_never().is_some(), "the credit was given back");
    }

    #[tokio::test]
    async fn an_object_larger_than_all_credit_passes_alone() {
        let (outlet, mut items_rx) = Outlet::new(1000);
        outlet.send(upsert(5000)).await;
        assert!(outlet.send(upsert(1)).now_or_never().is_none());
        drop(items_rx.recv().await);
        outlet.send(upsert(1)).await;
    }
}
