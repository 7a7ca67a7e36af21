//! The one connection to the hub: dial, register, open the channels, and reconnect when it breaks.
//!
//! ```text
//! dial ──▶ Register ──▶ session ─┬─ control: pings, announcements, operations
//!   ▲                            ├─ events: one task per account (attach ▶ watched ▶ flow control ▶ batches)
//!   └── backoff ◀── it broke ────┴─ results: results of operations
//! ```
//!
//! An attached account goes through a channel to the watch engine, which sends its items to the account's flow control.

mod attached;
mod bearer;
mod caching;
mod channels;
mod dial;
mod flow;
mod frames;
mod heartbeat;
mod namespaces;
mod session;
mod zone;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use spindrift_model::{AgentId, Incarnation};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
    shutdown::Shutdown,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tracing::{info, warn};

pub use attached::{AttachedAccount, WantedObjects};
pub use bearer::{Bearer, BearerError};
pub use dial::{DialError, Dialer};
pub use flow::{Credit, CreditHold, CreditedItem, FlowControl, FlowOptions, SendReservation, UsageGauges};
use session::{Session, SessionEnd};
pub(crate) use zone::zone;

use crate::{
    accounts::Accounts, config::Clouddriver, metrics::Metrics, operate::Executor, status::AgentStatus,
};

/// Duration after which a session counts as healthy; shorter ones in a row are followed by growing pauses.
const HEALTHY: Duration = Duration::from_secs(10);

/// Longest pause before the next session that a hub can ask for.
const LONGEST_ABSENCE: Duration = Duration::from_mins(5);

/// Parts from which the uplink is built.
#[derive(Debug)]
pub struct Uplink {
    /// Dialer of the hub.
    pub dialer: Dialer,
    /// Source of the token that is sent to the hub.
    pub bearer: Bearer,
    /// Settings of the link.
    pub config: Clouddriver,
    /// Least time between two sessions, if there is one.
    pub min_pause: Option<Duration>,
    /// Name of this agent.
    pub agent: AgentId,
    /// Incarnation of this process.
    pub incarnation: Incarnation,
    /// Zone that the agent runs in.
    pub zone: String,
    /// Accounts that can be served.
    pub ready_rx: watch::Receiver<Accounts>,
    /// Status that operators see.
    pub status: AgentStatus,
    /// Metrics of the agent.
    pub metrics: Arc<Metrics>,
    /// Executor of the hub's operations.
    pub executor: Executor,
    /// Receives each account when it is attached, to watch it.
    pub attached_tx: mpsc::Sender<AttachedAccount>,
    /// State of the link, for the health endpoint.
    pub link_tx: watch::Sender<Link>,
}

/// State of the link to the hub.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Set while a session is open.
    pub connected: bool,
    /// Time of the last change.
    pub since: Option<Timestamp>,
    /// Reason for which there is no session.
    pub error: Option<String>,
    /// Reason for which the hub ended the previous session, and when; it stays after a reconnect.
    pub disconnected: Option<(Timestamp, String)>,
}

// === impl Link ===

impl Link {
    /// Returns the state of an open session that follows this one.
    fn up(&self) -> Self {
        let disconnected = self.disconnected.clone();
        Self { connected: true, since: Some(Timestamp::now()), error: None, disconnected }
    }
}

// === impl Uplink ===

impl Uplink {
    /// Keeps a session with the hub open until shutdown.
    pub async fn run(self, reconnect: BackoffConfig, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut backoff = Backoff::new(reconnect);
        loop {
            // Without an account there is nothing to send, and so no reason to connect. One that cannot be served is shown.
            let (mut ready_rx, mut unavailable_rx) = (self.ready_rx.clone(), self.status.unavailable());
            let ready = async {
                tokio::select! {
                    ready = async { ready_rx.wait_for(|accounts| !accounts.is_empty()).await.is_ok() } => ready,
                    failed = async { unavailable_rx.wait_for(|accounts| !accounts.is_empty()).await.is_ok() } => failed,
                }
            };
            if token.run_until_cancelled(ready).await != Some(true) {
                return Ok(());
            }

            let started = Instant::now();
            let ended = Session::run(&self, &shutdown).await;
            let error = match &ended {
                Ok(ended) => ended.reason.clone(),
                Err(error) => report(error),
            };
            if self.lost(error) {
                self.metrics.disconnected();
            }
            if token.is_cancelled() {
                return Ok(());
            }
            if let Ok(SessionEnd { reason, retry_after: Some(_), .. }) = &ended {
                warn!(hub = self.dialer.address(), reason, "the hub ended the session");
                let disconnected = Some((Timestamp::now(), reason.clone()));
                self.link_tx.send_modify(|link| link.disconnected = disconnected);
            }
            let retry_after = match ended {
                Ok(ended) => {
                    info!(
                        hub = self.dialer.address(),
                        reason = ended.reason,
                        "server has stopped sending ops: session ended"
                    );
                    let soon = Duration::from_millis(fastrand::u64(20..200));
                    let pause = if started.elapsed() >= HEALTHY {
                        // It worked, so the hub is available: reconnect at once, but not in step with all others.
                        backoff.reset();
                        soon
                    } else {
                        backoff.next()
                    };
                    let asked = ended.retry_after.unwrap_or_default().min(LONGEST_ABSENCE);
                    asked.max(pause).max(self.min_pause.unwrap_or_default())
                }
                Err(error) => {
                    backoff.ended_after(started.elapsed());
                    let wait = backoff.next();
                    warn!(hub = self.dialer.address(), error = %report(&error), retry_in = ?wait, "registration failed");
                    wait.max(self.min_pause.unwrap_or_default())
                }
            };
            if token.run_until_cancelled(tokio::time::sleep(retry_after)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Records that no session is open; returns whether there was one.
    fn lost(&self, error: String) -> bool {
        let mut was_connected = false;
        self.link_tx.send_modify(|link| {
            was_connected = link.connected;
            let since = if link.connected { Some(Timestamp::now()) } else { link.since };
            *link = Link {
                connected: false,
                since: since.or_else(|| Some(Timestamp::now())),
                error: Some(error),
                disconnected: link.disconnected.take(),
            };
        });
        was_connected
    }
}
