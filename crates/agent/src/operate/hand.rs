//! What a verb works with.

use std::sync::Arc;

use spindrift_kubernetes::{Api, Redactions};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    account::Account,
    config::{Retries, ServerSideApply},
};

/// One account's API server, in reach of one operation.
#[derive(Clone)]
pub struct Hand {
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
}
