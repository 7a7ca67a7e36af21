//! Attached accounts on their way from the uplink to the watch engine.

use std::sync::Arc;

use spindrift_model::{CacheKinds, ResumePoint};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::FlowControl;
use crate::accounts::Account;

/// An account that the hub has attached. Its scopes are watched until the attachment ends.
#[derive(Debug)]
pub struct AttachedAccount {
    /// The account.
    pub account: Arc<Account>,
    /// Objects that the hub wants.
    pub wanted: WantedObjects,
    /// Scopes of which the hub has a state to resume from.
    pub resume_points: Vec<ResumePoint>,
    /// Receiver of the items.
    pub flow: FlowControl,
    /// Cancelled when the attachment ends.
    pub detached: CancellationToken,
    /// Dropped when the watches have stopped.
    pub watching: DropGuard,
}

/// Objects that the hub wants of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedObjects {
    /// Kinds that the hub caches.
    pub kinds: CacheKinds,
    /// Set if it wants only objects that Spinnaker deployed.
    pub only_managed: bool,
}

/// The watches of an attachment, as the uplink sees them; they stop when this is dropped.
pub(super) struct AttachedWatches {
    detached: DropGuard,
    stopped: CancellationToken,
}

// === impl AttachedAccount ===

impl AttachedAccount {
    pub(super) fn new(
        account: Arc<Account>,
        wanted: WantedObjects,
        resume_points: Vec<ResumePoint>,
        flow: FlowControl,
    ) -> (Self, AttachedWatches) {
        let (detached, stopped) = (CancellationToken::new(), CancellationToken::new());
        let watching = stopped.clone().drop_guard();
        let watches = AttachedWatches { detached: detached.clone().drop_guard(), stopped };
        (Self { account, wanted, resume_points, flow, detached, watching }, watches)
    }
}

// === impl AttachedWatches ===

impl AttachedWatches {
    /// Waits until the watches have stopped by themselves, which only a panic can cause.
    pub(super) async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    /// Stops the watches and waits for their end, so that nothing of theirs follows.
    pub(super) async fn stop(self) {
        let Self { detached, stopped } = self;
        drop(detached);
        stopped.cancelled().await;
    }
}
