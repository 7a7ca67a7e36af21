//! What a verb works with.

use std::{sync::Arc, time::Duration};

use spindrift_kubernetes::{Api, Redactions};
use spindrift_model::OperationId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::{
    account::Account,
    config::{Retries, ServerSideApply},
    metrics::Metrics,
};

/// Whoever waits for something to happen in the cluster stops this long before the deadline, so that what it has to say
/// reaches the one who asked in time.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// One account's API server, in reach of one operation.
#[derive(Clone)]
pub struct Hand {
    /// Which operation.
    pub operation: OperationId,
    /// Whose cluster it is.
    pub account: Arc<Account>,
    /// `kubernetes.serverSideApply`.
    pub server_side_apply: Arc<ServerSideApply>,
    /// `kubernetes.retries`.
    pub retries: Retries,
    /// No call lasts longer.
    pub deadline: Instant,
    /// The caller has lost interest: a verb looks here before it changes something, and while it waits.
    pub cancelled: CancellationToken,
    /// The agent's counters.
    pub metrics: Arc<Metrics>,
}

// === impl Hand ===

impl Hand {
    /// The API server.
    pub fn api(&self) -> &Api {
        &self.account.api
    }

    /// What never leaves the cluster.
    pub fn redactions(&self) -> &Redactions {
        &self.account.redactions
    }

    /// How long to wait for something to happen in the cluster.
    pub fn waits_until(&self) -> Instant {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.deadline.checked_sub(ANSWER_TIME.min(left / 4)).unwrap_or(self.deadline)
    }

    /// Stops here if nobody wants it any more, or its time is over; to be asked before something is changed.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        if Instant::now() >= self.deadline {
            return Err(Failure::Expired);
        }
        Ok(())
    }
}
