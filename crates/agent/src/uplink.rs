//! The one connection to the hub: dial, register, open the channels, and begin again when it breaks.
//!
//! ```text
//! dial ──▶ Register ──▶ session ─┬─ control: pings, announcements, operations
//!   ▲                            ├─ events: one task per account (attach ▶ engine ▶ batches)
//!   └── backoff ◀── it broke ────┴─ results: answers of operations
//! ```

mod bearer;
mod caching;
mod channels;
mod dial;
mod flow;
mod frames;
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
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};

pub use bearer::{Bearer, BearerError};
pub use dial::{DialError, Dialer};
pub use flow::{Credit, Credited, Hold, Meter, Outlet, OutletOptions, Place};
use session::Session;
pub(crate) use zone::zone;

use crate::{accounts::Accounts, config::Clouddriver, metrics::Metrics, operate::Executor, status::Board};

/// A session that lived this long was a good one; shorter ones in a row are taken up with growing pauses.
const STEADY: Duration = Duration::from_secs(10);

/// What the uplink works with.
#[derive(Debug)]
pub struct Uplink {
    /// How the hub is reached.
    pub dialer: Dialer,
    /// What is shown to it.
    pub bearer: Bearer,
    /// How the link is kept.
    pub config: Clouddriver,
    /// The least time between two sessions, if there is one.
    pub pause: Option<Duration>,
    /// Who we are.
    pub agent: AgentId,
    /// This life of the process.
    pub incarnation: Incarnation,
    /// Where we run.
    pub zone: String,
    /// The accounts that can be served.
    pub ready_rx: watch::Receiver<Accounts>,
    /// Where operators look.
    pub board: Board,
    /// The agent's counters.
    pub metrics: Arc<Metrics>,
    /// Who does what the hub asks for.
    pub executor: Executor,
    /// How the link is, for the health endpoint.
    pub link_tx: watch::Sender<Link>,
}

/// How the link to the hub is.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Whether a session is open.
    pub connected: bool,
    /// Since when, or since when not.
    pub since: Option<Timestamp>,
    /// Why there is none.
    pub error: Option<String>,
}

// === impl Link ===

impl Link {
    fn up() -> Self {
        Self { connected: true, since: Some(Timestamp::now()), error: None }
    }
}

// === impl Uplink ===

impl Uplink {
    /// Keeps a session with the hub for as long as the process lives.
    pub async fn run(self, pace: BackoffConfig, shutdown: Shutdown) -> anyhow::Result<()> {
        let token = shutdown.token();
        let mut backoff = Backoff::new(pace);
        loop {
            // Without an account there is nothing to say, and so no reason to call.
            let mut ready_rx = self.ready_rx.clone();
            let ready = async { ready_rx.wait_for(|accounts| !accounts.is_empty()).await.is_ok() };
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
            let retry_after = match ended {
                Ok(ended) => {
                    info!(
                        hub = self.dialer.address(),
                        reason = ended.reason,
                        "server has stopped sending ops: session ended"
                    );
                    let soon = Duration::from_millis(fastrand::u64(20..200));
                    let pause = if started.elapsed() >= STEADY {
                        // It worked, so the hub is there: come back at once, but not in step with all others.
                        backoff.reset();
                        soon
                    } else {
                        backoff.next()
                    };
                    ended.retry_after.unwrap_or_default().max(pause).max(self.pause.unwrap_or_default())
                }
                Err(error) => {
                    backoff.ended_after(started.elapsed());
                    let wait = backoff.next();
                    warn!(hub = self.dialer.address(), error = %report(&error), retry_in = ?wait, "registration failed");
                    wait.max(self.pause.unwrap_or_default())
                }
            };
            if token.run_until_cancelled(tokio::time::sleep(retry_after)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// There is no session now; gives whether there was one.
    fn lost(&self, error: String) -> bool {
        let mut was_connected = false;
        self.link_tx.send_modify(|link| {
            was_connected = link.connected;
            let since = if link.connected { Some(Timestamp::now()) } else { link.since };
            *link = Link {
                connected: false,
                since: since.or_else(|| Some(Timestamp::now())),
                error: Some(error),
            };
        });
        was_connected
    }
}
