//! Context of an operation: all that a verb works with.

use std::{sync::Arc, time::Duration};

use spindrift_kubernetes::{Api, KindFreshness, Redactions};
use spindrift_model::{OperationError, OperationId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::Account,
    config::{Retries, ServerSideApply},
    metrics::Metrics,
};

/// Time before the deadline at which a verb stops waiting for the cluster, so that its answer arrives in time.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Context of one operation on one account's API server.
#[derive(Clone)]
pub struct OperationContext {
    /// Id of the operation.
    pub operation: OperationId,
    /// Account.
    pub account: Arc<Account>,
    /// `kubernetes.serverSideApply`.
    pub server_side_apply: Arc<ServerSideApply>,
    /// `kubernetes.revealSecrets`.
    pub reveal_secrets: bool,
    /// `kubernetes.retries`.
    pub retries: Retries,
    /// No call lasts longer.
    pub deadline: Instant,
    /// Freshness of the served kinds: a read may miss a kind that was installed within the last second.
    pub kinds: KindFreshness,
    /// Cancelled by the caller: a verb checks it before it changes something, and while it waits.
    pub cancelled: CancellationToken,
    /// The agent's counters.
    pub metrics: Arc<Metrics>,
}

// === impl OperationContext ===

impl OperationContext {
    /// The API server.
    pub fn api(&self) -> &Api {
        &self.account.api
    }

    /// Fields that never leave the cluster.
    pub fn redactions(&self) -> &Redactions {
        &self.account.redactions
    }

    /// Time until which a verb may wait for the cluster.
    pub fn waits_until(&self) -> Instant {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.deadline.checked_sub(ANSWER_TIME.min(left / 4)).unwrap_or(self.deadline)
    }

    /// Fails if the operation was cancelled or its deadline has passed; to be called before every change.
    pub fn go_on(&self) -> Result<(), OperationError> {
        if self.cancelled.is_cancelled() {
            return Err(OperationError::cancelled());
        }
        if Instant::now() >= self.deadline {
            return Err(OperationError::deadline_exceeded());
        }
        Ok(())
    }
}
