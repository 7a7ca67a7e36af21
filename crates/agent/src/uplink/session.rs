//! One session: registered, with open channels, until one of them breaks.

mod accounts;

use std::{
    collections::{HashMap, VecDeque},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use spindrift_model::{AccountName, Verb};
use spindrift_process::{
    shutdown::Shutdown,
    supervisor::{Supervisor, TaskEvent},
};
use spindrift_protocol::{
    Channel, ControlDown, ControlUp, EventsDown, InvalidMessage, Operations, Registration, ResultsDown,
    SUPPORTED, Welcome, v1,
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tracing::{debug, info};

use super::{
    Uplink,
    channels::{Channels, OpenError},
    heartbeat::Heartbeat,
    namespaces::NamespaceUpdate,
};
use crate::{accounts::Account, operate::Results};

/// Number of pings after which accounts that the hub has refused are announced again: with its heartbeat, every minute.
const REFUSED_PINGS: u64 = 12;

/// Queued changes of namespaces that the session has not handled; further pollers wait.
const NAMESPACE_UPDATES: usize = 16;

/// Time for which an agent that stops waits for the hub to receive the results of finished operations.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a session that lost a channel waits for the reason on the Control channel.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// An open session.
pub(super) struct Session<'a> {
    uplink: &'a Uplink,
    welcome: Welcome,
    channels: Channels,
    /// Messages that wait for the Control channel: pings, at most a withdrawal and an announcement per account, and lists of
    /// unavailable accounts, each after a failed attempt at one.
    control_queue: VecDeque<ControlUp>,
    /// Nonce and time of the last ping.
    pinged: (u64, Instant),
    /// Accounts that were announced to the hub, in the form in which they were announced.
    announced: HashMap<AccountName, Arc<Account>>,
    /// Announced accounts that the hub has refused, with its reason, which may pass.
    refused: HashMap<AccountName, String>,
    /// Announced accounts that the hub has accepted.
    accounts: HashMap<AccountName, ServedAccount>,
    /// One task per cached account; it ends when it is stopped, or with the session.
    caching: Supervisor<AccountName, ()>,
    /// Changes of namespaces since the account was announced.
    namespaces: (mpsc::Sender<NamespaceUpdate>, mpsc::Receiver<NamespaceUpdate>),
    /// Operations of which not all parts have arrived.
    operations: Operations,
    /// Time of the last message on the Control channel.
    last_received: Instant,
}

/// An account that is cached, or on standby.
struct ServedAccount {
    /// Messages of the hub for this account. Unbounded, but the hub only answers: one message per attach, one
    /// acknowledgement per batch, which credit bounds, and the fingerprints of the scopes that are being listed.
    down_tx: mpsc::UnboundedSender<EventsDown>,
    /// Stops its task.
    stop: CancellationToken,
}

/// End of a session that was open.
pub(super) struct SessionEnd {
    pub(super) reason: String,
    /// Delay that the hub asked for before the next session.
    pub(super) retry_after: Option<Duration>,
    /// Set if the hub closed a channel.
    pub(super) closed_by_hub: bool,
}

// === impl Session ===

impl<'a> Session<'a> {
    /// Registers and serves until a channel breaks; returns an error if the session could not be opened.
    pub(super) async fn run(uplink: &'a Uplink, shutdown: &Shutdown) -> Result<SessionEnd, OpenError> {
        let accounts: Vec<_> = uplink.ready_rx.borrow().values().cloned().collect();
        let hub = uplink.dialer.address();
        info!(hub, "connecting to {hub}");
        info!(hub, "registering with {} servers", accounts.len());
        let registration = Registration {
            agent: uplink.agent.clone(),
            incarnation: uplink.incarnation,
            version: crate::VERSION.into(),
            protocol: SUPPORTED,
            zone: uplink.zone.clone(),
            accounts: accounts.iter().map(|account| account.description.clone()).collect(),
            verbs: Verb::NAMES.map(str::to_owned).to_vec(),
        };
        let opening = Channels::open(uplink, registration);
        let Some(opened) = shutdown.token().run_until_cancelled(opening).await else {
            return Ok(SessionEnd::because("the agent is stopping"));
        };
        let (welcome, channels) = opened?;
        info!(hub = %welcome.hub, version = welcome.hub_version, session = %welcome.session, "connected to {}", uplink.dialer.address());
        let announced =
            accounts.into_iter().map(|account| (account.description.name.clone(), account)).collect();
        uplink.metrics.connections.inc();
        uplink.link_tx.send_modify(|link| *link = link.up());
        let mut session = Self {
            uplink,
            welcome,
            channels,
            control_queue: VecDeque::new(),
            pinged: (0, Instant::now()),
            announced,
            refused: HashMap::new(),
            accounts: HashMap::new(),
            caching: Supervisor::new(),
            namespaces: mpsc::channel(NAMESPACE_UPDATES),
            operations: Operations::default(),
            last_received: Instant::now(),
        };
        for verdict in std::mem::take(&mut session.welcome.accounts) {
            session.apply_verdict(verdict);
        }
        let results = uplink.executor.results();
        results.begin_session();
        let ended = session.serve(shutdown).await;
        let ended = session.with_reason_of_hub(ended).await;
        results.end_session();
        let Self { accounts, caching, .. } = session;
        // None of their watches may be shown as running afterwards.
        drop(caching);
        for account in accounts.keys() {
            uplink.status.not_caching(account);
        }
        Ok(ended)
    }

    async fn serve(&mut self, shutdown: &Shutdown) -> SessionEnd {
        let token = shutdown.token();
        let heartbeat = self.uplink.config.heartbeat(self.welcome.pacing.heartbeat);
        let silence = self.uplink.config.silence(heartbeat);
        let mut ping = Heartbeat::new(heartbeat);
        let mut ready_rx = self.uplink.ready_rx.clone();
        // A change during the registration would otherwise be missed.
        ready_rx.mark_changed();
        let mut unavailable_rx = self.uplink.status.unavailable();
        unavailable_rx.mark_changed();
        let control_tx = self.channels.control_tx.clone();
        let results = self.uplink.executor.results();
        let results_heartbeat = self.channels.results_heartbeat.take();
        let mut sending = pin!(send_results(results, self.channels.results_tx.clone(), results_heartbeat));
        let mut drained = pin!(async {
            token.cancelled().await;
            // Results of operations that have begun are sent, so that their outcome is known.
            timeout(DRAIN_TIMEOUT, results.settled()).await.ok();
        });
        let mut nonce = 0;
        loop {
            let step = tokio::select! {
                biased;
                () = &mut drained => return SessionEnd::because("the agent is stopping"),
                permit = control_tx.reserve(), if !self.control_queue.is_empty() => match permit {
                    Ok(permit) => {
                        if let Some(message) = self.control_queue.pop_front() {
                            permit.send(message.into());
                        }
                        Ok(())
                    }
                    Err(_) => Err(SessionEnd::because("the Control channel broke")),
                },
                down = self.channels.control_down.message() => self.control(down),
                down = self.channels.events_down.message() => self.events(down),
                down = self.channels.results_down.message() => self.results(down),
                () = &mut sending => Err(SessionEnd::because("the Results channel broke")),
                event = self.caching.next() => {
                    match event {
                        TaskEvent::Ended(account, ()) => self.stopped(&account),
                        TaskEvent::Panicked(panicked) => self.panicked(&panicked),
                        TaskEvent::RestartDue(account) => self.announce_again(&account),
                    }
                    Ok(())
                }
                () = ping.due() => {
                    nonce += 1;
                    if self.last_received.elapsed() > silence {
                        Err(SessionEnd::because(format!("no message from the hub for {:?}", self.last_received.elapsed())))
                    } else {
                        self.pinged = (nonce, Instant::now());
                        self.control_queue.push_back(ControlUp::Ping { nonce });
                        if nonce % REFUSED_PINGS == 0 {
                            self.announce_refused();
                        }
                        Ok(())
                    }
                }
                Some((account, namespaces)) = self.namespaces.1.recv() => {
                    self.announce_namespaces(&account, namespaces);
                    Ok(())
                }
                Ok(()) = ready_rx.changed() => {
                    self.follow_accounts();
                    Ok(())
                }
                Ok(()) = unavailable_rx.changed(), if self.welcome.takes_unavailable => {
                    let unavailable = unavailable_rx.borrow_and_update().clone();
                    self.control_queue.push_back(ControlUp::Unavailable(unavailable));
                    Ok(())
                }
            };
            if let Err(ended) = step {
                return ended;
            }
        }
    }

    /// Waits for the reason on the Control channel if the hub closed another channel first.
    async fn with_reason_of_hub(&mut self, ended: SessionEnd) -> SessionEnd {
        if ended.retry_after.is_some() || !ended.closed_by_hub {
            return ended;
        }
        let reason = async {
            while let Ok(Some(message)) = self.channels.control_down.message().await {
                if let Ok(ControlDown::Disconnect { reason, retry_after }) = ControlDown::try_from(message) {
                    return Some(SessionEnd { reason, retry_after: Some(retry_after), closed_by_hub: true });
                }
            }
            None
        };
        timeout(REASON_TIMEOUT, reason).await.ok().flatten().unwrap_or(ended)
    }

    fn control(
        &mut self,
        down: Result<Option<spindrift_protocol::v1::ControlDown>, Status>,
    ) -> Result<(), SessionEnd> {
        let message = down
            .map_err(|status| broken(&status))?
            .ok_or_else(|| SessionEnd::because("the hub closed the Control channel"))?;
        self.last_received = Instant::now();
        match ControlDown::try_from(message).map_err(|invalid| invalid_message(&invalid))? {
            ControlDown::Pong { nonce } => self.ponged(nonce),
            ControlDown::Verdict(verdict) => self.apply_verdict(verdict),
            ControlDown::Disconnect { reason, retry_after } => {
                return Err(SessionEnd { reason, retry_after: Some(retry_after), closed_by_hub: true });
            }
            ControlDown::Operation(part) => {
                if let Some(request) =
                    self.operations.push(part).map_err(|invalid| invalid_message(&invalid))?
                {
                    self.uplink.executor.submit(request);
                }
            }
            ControlDown::Cancel(operation) => self.uplink.executor.cancel(operation),
        }
        Ok(())
    }

    fn ponged(&self, nonce: u64) {
        debug!(nonce, "pong");
        self.uplink.metrics.heartbeat(Channel::Control);
        let (last, at) = self.pinged;
        if nonce == last {
            self.uplink.metrics.ping_seconds.set(at.elapsed().as_secs_f64());
        }
    }

    fn events(
        &mut self,
        down: Result<Option<spindrift_protocol::v1::EventsDown>, Status>,
    ) -> Result<(), SessionEnd> {
        let message = down.map_err(|status| broken(&status))?.ok_or_else(|| SessionEnd::closed("Events"))?;
        let message = EventsDown::try_from(message).map_err(|invalid| invalid_message(&invalid))?;
        let Some(account) = message.account() else {
            self.uplink.metrics.heartbeat(Channel::Events);
            return Ok(());
        };
        let Some(served) = self.accounts.get(account) else {
            debug!(%account, "message for an account that is not served any more");
            return Ok(());
        };
        // The account's task may have just ended.
        if served.down_tx.send(message).is_err() {
            debug!("message for an account whose task has ended");
        }
        Ok(())
    }

    fn results(&mut self, down: Result<Option<v1::ResultsDown>, Status>) -> Result<(), SessionEnd> {
        let message = down.map_err(|status| broken(&status))?.ok_or_else(|| SessionEnd::closed("Results"))?;
        let message = ResultsDown::try_from(message).map_err(|invalid| invalid_message(&invalid))?;
        match message {
            ResultsDown::Heartbeat => self.uplink.metrics.heartbeat(Channel::Results),
            ResultsDown::Credit(..) | ResultsDown::Done(_) => {
                self.uplink.executor.results().acknowledge(message);
            }
        }
        Ok(())
    }
}

// === impl SessionEnd ===

impl SessionEnd {
    fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None, closed_by_hub: false }
    }

    fn closed(channel: &str) -> Self {
        Self { closed_by_hub: true, ..Self::because(format!("the hub closed the {channel} channel")) }
    }
}

/// Sends results of operations, and heartbeats, until the channel breaks.
async fn send_results(
    results: &Results,
    results_tx: mpsc::Sender<v1::ResultsUp>,
    mut heartbeat: Option<Heartbeat>,
) {
    loop {
        // The permit first: a piece that was taken from the queue is on its way.
        let Ok(permit) = results_tx.reserve().await else { return };
        permit.send(tokio::select! {
            biased;
            // First, since the hub's direction may be idle while ours is not.
            () = Heartbeat::due_if_any(&mut heartbeat) => {
                v1::ResultsUp { heartbeat: true, ..v1::ResultsUp::default() }
            }
            part = results.next() => part.into(),
        });
    }
}

fn broken(status: &Status) -> SessionEnd {
    SessionEnd::because(format!("the link broke: {}", status.message()))
}

fn invalid_message(invalid: &InvalidMessage) -> SessionEnd {
    SessionEnd::because(format!("the hub sent an invalid message: {invalid}"))
}

#[cfg(test)]
mod tests;
