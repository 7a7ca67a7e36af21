//! What the hub does by itself, over and over; it is ready when each has worked once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use spindrift_model::{AccountName, HubId, TenantId};
use spindrift_process::{readiness::ReadinessGuard, report, shutdown::Shutdown};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::{info, warn};

use crate::{
    clouddriver::{self, Accounts},
    ingest::Feed,
    schedule::Schedule,
    store::{Forgotten, Store, StoreError},
};

/// How often the positions that other hubs have committed are looked up.
const FEED_POLL: Duration = Duration::from_millis(500);
/// How often a hub says that it lives, and old tombstones are swept.
const HOUSEKEEPING: Duration = Duration::from_secs(15);
/// Sessions and hubs that ended longer ago are of no interest.
const FORGET: Duration = Duration::from_hours(24);

/// Wakes the readers of the feed for what other hubs on the same store have committed.
pub(super) struct Polling {
    pub(super) store: Store,
    pub(super) feed: Arc<Feed>,
    pub(super) tenant: TenantId,
    pub(super) unready: Option<ReadinessGuard>,
}

/// Says that this hub lives, and sweeps what is of no interest any more.
pub(super) struct Housekeeping {
    pub(super) store: Store,
    pub(super) id: HubId,
    pub(super) base_url: String,
    pub(super) retention: Duration,
    /// How long the answers of operations are kept.
    pub(super) answers: Duration,
    pub(super) unready: Option<ReadinessGuard>,
}

/// Forgets accounts that no agent has served for a while.
pub(super) struct Cleanup {
    pub(super) store: Store,
    pub(super) id: HubId,
    pub(super) base_url: String,
    pub(super) tenant: TenantId,
    pub(super) accounts: Accounts,
    /// For so long nobody has to have served it.
    pub(super) after: Duration,
    /// An agent that was not heard of for so long serves nothing.
    pub(super) silence: Duration,
    /// Since when it has been seen that nobody does. A hub that is started begins anew, and so does every agent.
    pub(super) unserved: HashMap<AccountName, Instant>,
}

/// Forgets operations that ended long ago, by the clock.
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

// === impl Housekeeping ===

impl Housekeeping {
    pub(super) async fn run(mut self, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut interval = tokio::time::interval(HOUSEKEEPING);
        while token.run_until_cancelled(interval.tick()).await.is_some() {
            if let Err(error) = self.tidy().await {
                warn!(error = %report(&error), "housekeeping will be tried again");
            }
        }
        Ok(())
    }

    async fn tidy(&mut self) -> Result<(), StoreError> {
        self.store.heartbeat(&self.id, &self.base_url).await?;
        self.unready = None;
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
                self.unserved.clear();
                warn!(error = %report(&error), "accounts that nobody serves are looked for again");
            }
        }
        Ok(())
    }

    async fn clean(&mut self) -> Result<(), StoreError> {
        // While the store takes no writes, nobody can say of himself that he serves anything.
        self.store.heartbeat(&self.id, &self.base_url).await?;
        let now = Instant::now();
        let found = self.store.unserved_accounts(&self.tenant, self.silence).await?;
        self.unserved.retain(|account, _| found.contains(account));
        for account in found {
            let since = *self.unserved.entry(account.clone()).or_insert(now);
            if now - since < self.after {
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
            // By the wall clock, which may be set: it is looked at again and again.
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
