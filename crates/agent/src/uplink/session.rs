//! One session: registered, with its channels open, until something breaks.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::FutureExt;
use spindrift_model::AccountName;
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::{
    ControlDown, ControlUp, EventsDown, InvalidMessage, Registration, SUPPORTED, Verdict, Welcome,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};
use tonic::Status;
use tracing::{debug, info, warn};

use super::{
    Uplink,
    caching::CachingAccount,
    channels::{Channels, OpenError},
};
use crate::account::Account;

/// Silence of this many heartbeats is a dead link.
const MISSED_HEARTBEATS: u32 = 3;

/// A session that is open.
pub(super) struct Session<'a> {
    uplink: &'a Uplink,
    welcome: Welcome,
    channels: Channels,
    /// Where each account hears from the hub. Unbounded, but the hub only speaks when spoken to: an answer to an
    /// attach, and an acknowledgement of a batch that credit has bounded.
    accounts: HashMap<AccountName, mpsc::UnboundedSender<EventsDown>>,
    /// One task per account that is cached; they end with the session.
    caching: JoinSet<()>,
    heard: Instant,
}

/// A session that was open, and is over.
pub(super) struct Ended {
    pub(super) reason: String,
    /// When the hub wants to see us again.
    pub(super) retry_after: Option<Duration>,
}

// === impl Session ===

impl<'a> Session<'a> {
    /// Registers and serves until something breaks; an error if it did not come about at all.
    pub(super) async fn run(uplink: &'a Uplink, shutdown: &Shutdown) -> Result<Ended, OpenError> {
        let accounts: Vec<_> = uplink.ready_rx.borrow().values().cloned().collect();
        info!(
            hub = uplink.dialer.address(),
            accounts = accounts.len(),
            "connecting to {}",
            uplink.dialer.address()
        );
        let registration = Registration {
            agent: uplink.agent.clone(),
            incarnation: uplink.incarnation,
            version: crate::VERSION.into(),
            protocol: SUPPORTED,
            zone: uplink.zone.clone(),
            accounts: accounts.iter().map(|account| account.description.clone()).collect(),
        };
        let opening = Channels::open(&uplink.dialer, registration, &uplink.metrics);
        let Some(opened) = shutdown.token().run_until_cancelled(opening).await else {
            return Ok(Ended::because("the agent stops"));
        };
        let (welcome, channels) = opened?;
        info!(hub = %welcome.hub, version = welcome.hub_version, session = %welcome.session, "connected to {}", uplink.dialer.address());
        uplink.metrics.connections.inc();
        uplink.connected_tx.send_replace(true);
        let mut session = Self {
            uplink,
            welcome,
            channels,
            accounts: HashMap::new(),
            caching: JoinSet::new(),
            heard: Instant::now(),
        };
        for verdict in std::mem::take(&mut session.welcome.accounts) {
            session.judge(verdict);
        }
        let ended = session.serve(shutdown).await;
        for account in session.accounts.keys() {
            uplink.board.not_caching(account);
        }
        Ok(ended)
    }

    async fn serve(&mut self, shutdown: &Shutdown) -> Ended {
        let token = shutdown.token();
        let heartbeat = self.welcome.pacing.heartbeat;
        let mut ping = interval(heartbeat);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ready_rx = self.uplink.ready_rx.clone();
        let mut nonce = 0;
        loop {
            let step = tokio::select! {
                biased;
                () = token.cancelled() => return Ended::because("the agent stops"),
                down = self.channels.control_down.message() => self.control(down),
                down = self.channels.events_down.message() => self.events(down),
                _ = self.channels.results_down.message() => Err(Ended::because("the hub closed the Results channel")),
                Some(ended) = self.caching.join_next() => {
                    // Cached accounts end only with the session; anything else is a bug that must not pass unseen.
                    Err(Ended::because(format!("the task of an account ended: {ended:?}")))
                }
                _ = ping.tick() => {
                    nonce += 1;
                    if self.heard.elapsed() > heartbeat * MISSED_HEARTBEATS {
                        Err(Ended::because(format!("no word from the hub for {:?}", self.heard.elapsed())))
                    } else {
                        self.say(ControlUp::Ping { nonce })
                    }
                }
                Ok(()) = ready_rx.changed() => {
                    let known = |account: &Arc<Account>| self.accounts.contains_key(&account.description.name);
                    let fresh = ready_rx.borrow_and_update().values().filter(|account| !known(account))
                        .map(|account| account.description.clone()).collect();
                    self.say(ControlUp::Announce(fresh))
                }
            };
            if let Err(ended) = step {
                return ended;
            }
        }
    }

    fn control(
        &mut self,
        down: Result<Option<spindrift_protocol::v1::ControlDown>, Status>,
    ) -> Result<(), Ended> {
        let message = down
            .map_err(|status| broken(&status))?
            .ok_or_else(|| Ended::because("the hub closed the Control channel"))?;
        self.heard = Instant::now();
        match ControlDown::try_from(message).map_err(|invalid| nonsense(&invalid))? {
            ControlDown::Pong { nonce } => debug!(nonce, "pong"),
            ControlDown::Verdict(verdict) => self.judge(verdict),
            ControlDown::Disconnect { reason, retry_after } => {
                return Err(Ended { reason, retry_after: Some(retry_after) });
            }
        }
        Ok(())
    }

    fn events(
        &mut self,
        down: Result<Option<spindrift_protocol::v1::EventsDown>, Status>,
    ) -> Result<(), Ended> {
        let message = down
            .map_err(|status| broken(&status))?
            .ok_or_else(|| Ended::because("the hub closed the Events channel"))?;
        let message = EventsDown::try_from(message).map_err(|invalid| nonsense(&invalid))?;
        let account = message.account();
        let Some(down_tx) = self.accounts.get(account) else {
            warn!(%account, "the hub speaks of an account that is not ours");
            return Ok(());
        };
        // The account's task is gone only when the session ends.
        if down_tx.send(message).is_err() {
            debug!("the session ends");
        }
        Ok(())
    }

    /// Starts to cache an account that the hub accepts; shows why it does not accept another.
    fn judge(&mut self, verdict: Verdict) {
        let Verdict { account: name, refused } = verdict;
        if let Some(reason) = refused {
            warn!(account = %name, reason, "the hub refused the account");
            self.uplink.board.problem(&name, format!("the hub refused the account: {reason}"));
            return;
        }
        let Some(account) = self.uplink.ready_rx.borrow().get(&name).cloned() else { return };
        if self.accounts.contains_key(&name) {
            return;
        }
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        self.accounts.insert(name, down_tx);
        let caching = CachingAccount {
            account,
            kinds: self.welcome.kinds.clone(),
            batch_bytes: self.welcome.pacing.batch_bytes as usize,
            up_tx: self.channels.events_tx.clone(),
            down_rx,
            board: self.uplink.board.clone(),
            metrics: self.uplink.metrics.clone(),
        };
        self.caching.spawn(caching.run());
    }

    fn say(&self, message: ControlUp) -> Result<(), Ended> {
        self.channels.control_tx.send(message.into()).now_or_never().map_or_else(
            || Err(Ended::because("the Control channel is stuck")),
            |sent| sent.map_err(|_| Ended::because("the Control channel broke")),
        )
    }
}

// === impl Ended ===

impl Ended {
    fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None }
    }
}

fn broken(status: &Status) -> Ended {
    Ended::because(format!("the link broke: {}", status.message()))
}

fn nonsense(invalid: &InvalidMessage) -> Ended {
    Ended::because(format!("the hub said something that makes no sense: {invalid}"))
}
