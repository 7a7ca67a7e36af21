//! Periodic tasks of the hub; it is ready when each of them has succeeded once.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use spindrift_model::TenantId;
use spindrift_process::{readiness::ReadinessGuard, report, schedule::Schedule, shutdown::Shutdown};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::{info, warn};

use crate::{
    clouddriver::{self, Accounts},
    ingest::Feed,
    metrics::Metrics,
    store::{Forgotten, Store, StoreError, UnservedAccount, WriteProbe},
};

/// Interval at which the positions that other hubs have committed are read.
const FEED_POLL: Duration = Duration::from_millis(500);
/// Interval of a hub's heartbeat, which is also the test whether the store accepts writes.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// The same while the store accepts none.
const HEARTBEAT_RETRY: Duration = Duration::from_secs(1);
/// Interval of the removal of old tombstones.
const HOUSEKEEPING: Duration = Duration::from_secs(15);
/// Time that agents have to connect again after the hub or its store was away. One that waits longer between two attempts
/// (`clouddriver.backoff.maxDelay`) announces its accounts when it connects, which brings a removed one back.
const RECONNECT: Duration = Duration::from_mins(1);
/// Age at which ended sessions and hubs are deleted.
const FORGET: Duration = Duration::from_hours(24);

/// Wakes the readers of the feed when other hubs on the same store have committed.
pub(super) struct Polling {
    pub(super) store: Store,
    pub(super) feed: Arc<Feed>,
    pub(super) tenant: TenantId,
    pub(super) unready: Option<ReadinessGuard>,
}

/// Writes the heartbeat of this hub.
pub(super) struct Heartbeat {
    pub(super) probe: Arc<WriteProbe>,
    pub(super) unready: Option<ReadinessGuard>,
}

/// Deletes expired rows.
pub(super) struct Housekeeping {
    pub(super) store: Store,
    pub(super) retention: Duration,
    /// Retention of the results of operations.
    pub(super) answers: Duration,
    pub(super) tenant: TenantId,
    pub(super) metrics: Arc<Metrics>,
    /// Duration after which a silent agent counts as gone.
    pub(super) silence: Duration,
}

/// Deletes accounts that no agent has served for a while.
pub(super) struct Cleanup {
    pub(super) store: Store,
    pub(super) probe: Arc<WriteProbe>,
    pub(super) tenant: TenantId,
    pub(super) accounts: Accounts,
    /// Duration without an agent after which an account is deleted.
    pub(super) after: Duration,
    /// Duration after which a silent agent counts as gone.
    pub(super) silence: Duration,
    /// Time since which agents were able to connect and to record it: the hub runs, and its store accepts writes.
    pub(super) reachable_since: Instant,
}

/// Deletes operations that ended long ago, on a schedule.
pub(super) struct History {
    pub(super) store: Store,
    pub(super) keep: Duration,
    pub(super) schedule: Schedule,
}

// === impl Polling ===

impl Polling {
    pub(super) async fn run(mut self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut interval = tokio::time::interval(FEED_POLL);
        while token.run_until_cancelled(interval.tick()).await.is_some() {
            match self.store.positions(&self.tenant, None).await {
                Ok(positions) => {
                    self.feed.advance(positions.into_iter().map(|(account, at)| (account, at.seq)));
                    self.unready = None;
                }
                Err(error) => warn!(error = %report(&error), "positions were not read"),
            }
        }
        Ok(())
    }
}

// === impl Heartbeat ===

impl Heartbeat {
    pub(super) async fn run(mut self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        loop {
            // The probe logs a failure.
            let pause = if self.probe.write().await.is_ok() {
                self.unready = None;
                HEARTBEAT
            } else {
                HEARTBEAT_RETRY
            };
            if token.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }
}

// === impl Housekeeping ===

impl Housekeeping {
    pub(super) async fn run(self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut interval = tokio::time::interval(HOUSEKEEPING);
        while token.run_until_cancelled(interval.tick()).await.is_some() {
            if let Err(error) = self.tidy().await {
                warn!(error = %report(&error), "housekeeping will be tried again");
            }
        }
        Ok(())
    }

    async fn tidy(&self) -> Result<(), StoreError> {
        let unavailable = self.store.unavailable_accounts(&self.tenant, self.silence).await?;
        self.metrics.unavailable_accounts.set(i64::try_from(unavailable.len()).unwrap_or(i64::MAX));
        self.store.purge_sessions(FORGET).await?;
        self.store.purge_hubs(FORGET).await?;
        self.store.purge_answers(self.answers).await?;
        self.store.purge_tasks(clouddriver::RETENTION).await?;
        self.store.purge_tombstones(self.retention).await.map(drop)
    }
}

// === impl Cleanup ===

impl Cleanup {
    pub(super) async fn run(mut self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut interval = tokio::time::interval(HOUSEKEEPING.min(self.after));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while token.run_until_cancelled(interval.tick()).await.is_some() {
            if let Err(error) = self.clean().await {
                self.reachable_since = Instant::now();
                warn!(error = %report(&error), "accounts without an agent are looked for again");
            }
        }
        Ok(())
    }

    async fn clean(&mut self) -> Result<(), StoreError> {
        // While the store accepts no writes, no agent can record that it serves an account.
        self.probe.write().await?;
        let found = self.store.unserved_accounts(&self.tenant, self.silence).await?;
        if self.reachable_since.elapsed() < self.after.min(RECONNECT) {
            return Ok(());
        }
        for UnservedAccount { name: account, unserved_for } in found {
            if unserved_for < self.after {
                continue;
            }
            let forgotten = self.store.forget_unserved(&self.tenant, &account, self.silence).await?;
            if forgotten == Forgotten::Done {
                info!(%account, after = ?self.after, "account forgotten: no agent serves it");
                self.accounts.invalidate().await;
            }
        }
        Ok(())
    }
}

// === impl History ===

impl History {
    pub(super) async fn run(self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        loop {
            // By the wall clock, which may be set: read again at intervals.
            let now = Timestamp::now();
            let next = self.schedule.next_after(now);
            let left = next.and_then(|next| Duration::try_from(next.duration_since(now)).ok());
            let pause = left.unwrap_or(FORGET).min(FORGET);
            if token.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
            if next.is_none_or(|next| Timestamp::now() < next) {
                continue;
            }
            match self.store.purge_operations(self.keep).await {
                Ok(operations) => info!(operations, "the record of old operations was purged"),
                Err(error) => warn!(error = %report(&error), "the record of old operations was not purged"),
            }
        }
    }
}
