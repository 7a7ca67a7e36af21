//! One session: registered, with its channels open, until something breaks.

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
    supervisor::{Attended, News},
};
use spindrift_protocol::{
    ControlDown, ControlUp, EventsDown, InvalidMessage, Operations, Registration, ResultsDown, SUPPORTED,
    Welcome, v1,
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tracing::{debug, info};

use super::{
    Link, Uplink,
    channels::{Channels, OpenError},
    namespaces::Told,
};
use crate::{accounts::Account, operate::Results};

/// After this many pings, accounts that the hub has refused are announced again: with its pace, every minute.
const REFUSED_PINGS: u64 = 12;

/// Accounts whose namespaces have changed and that the session has not looked at; the others wait.
const NAMESPACES: usize = 16;

/// How long an agent that stops waits for the hub to take the answers of what it has done.
const FAREWELL: Duration = Duration::from_secs(5);

/// A session that is open.
pub(super) struct Session<'a> {
    uplink: &'a Uplink,
    welcome: Welcome,
    channels: Channels,
    /// What waits for the Control channel: pings, and for each account at most that it leaves and comes.
    outbox: VecDeque<ControlUp>,
    /// The last ping, and when it was made.
    pinged: (u64, Instant),
    /// The accounts that the hub has been told of, as they were then.
    announced: HashMap<AccountName, Arc<Account>>,
    /// Those of them that it has refused, and why: what is in their way may go.
    refused: HashMap<AccountName, String>,
    /// Those that it has accepted.
    accounts: HashMap<AccountName, Served>,
    /// One task per account that is cached; they end when they are stopped, or with the session.
    caching: Attended<AccountName, ()>,
    /// Namespaces that have changed since the hub was told of them.
    namespaces: (mpsc::Sender<Told>, mpsc::Receiver<Told>),
    /// Operations of which not all parts have come.
    operations: Operations,
    heard: Instant,
}

/// An account that is cached, or stands by.
struct Served {
    /// Where it hears from the hub. Unbounded, but the hub only speaks when spoken to: an answer to an attach, and an
    /// acknowledgement of a batch that credit has bounded.
    down_tx: mpsc::UnboundedSender<EventsDown>,
    /// Ends its task.
    stop: CancellationToken,
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
        let opening = Channels::open(&uplink.dialer, &uplink.bearer, registration, &uplink.metrics);
        let Some(opened) = shutdown.token().run_until_cancelled(opening).await else {
            return Ok(Ended::because("the agent stops"));
        };
        let (welcome, channels) = opened?;
        info!(hub = %welcome.hub, version = welcome.hub_version, session = %welcome.session, "connected to {}", uplink.dialer.address());
        let announced =
            accounts.into_iter().map(|account| (account.description.name.clone(), account)).collect();
        uplink.metrics.connections.inc();
        uplink.link_tx.send_replace(Link::up());
        let mut session = Self {
            uplink,
            welcome,
            channels,
            outbox: VecDeque::new(),
            pinged: (0, Instant::now()),
            announced,
            refused: HashMap::new(),
            accounts: HashMap::new(),
            caching: Attended::new(),
            namespaces: mpsc::channel(NAMESPACES),
            operations: Operations::default(),
            heard: Instant::now(),
        };
        for verdict in std::mem::take(&mut session.welcome.accounts) {
            session.judge(verdict);
        }
        let results = uplink.executor.results();
        results.begin_session();
        let ended = session.serve(shutdown).await;
        results.end_session();
        let Self { accounts, caching, .. } = session;
        // Nothing of theirs may be shown as running afterwards.
        drop(caching);
        for account in accounts.keys() {
            uplink.board.not_caching(account);
        }
        Ok(ended)
    }

    async fn serve(&mut self, shutdown: &Shutdown) -> Ended {
        let token = shutdown.token();
        let heartbeat = self.uplink.config.heartbeat(self.welcome.pacing.heartbeat);
        let silence = self.uplink.config.silence(heartbeat);
        let mut ping = interval(heartbeat);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ready_rx = self.uplink.ready_rx.clone();
        // What changed while we registered is not seen as a change.
        ready_rx.mark_changed();
        let control_tx = self.channels.control_tx.clone();
        let results = self.uplink.executor.results();
        let mut answers = pin!(send_answers(results, self.channels.results_tx.clone()));
        let mut farewell = pin!(async {
            token.cancelled().await;
            // What was begun is told, so that nobody has to wonder what came of it.
            timeout(FAREWELL, results.settled()).await.ok();
        });
        let mut nonce = 0;
        loop {
            let step = tokio::select! {
                biased;
                () = &mut farewell => return Ended::because("the agent stops"),
                permit = control_tx.reserve(), if !self.outbox.is_empty() => match permit {
                    Ok(permit) => {
                        if let Some(message) = self.outbox.pop_front() {
                            permit.send(message.into());
                        }
                        Ok(())
                    }
                    Err(_) => Err(Ended::because("the Control channel broke")),
                },
                down = self.channels.control_down.message() => self.control(down),
                down = self.channels.events_down.message() => self.events(down),
                down = self.channels.results_down.message() => self.results(down),
                () = &mut answers => Err(Ended::because("the Results channel broke")),
                news = self.caching.next() => {
                    match news {
                        News::Ended(account, ()) => self.stopped(&account),
                        News::Died(death) => self.died(&death),
                        News::Due(account) => self.announce_again(&account),
                    }
                    Ok(())
                }
                _ = ping.tick() => {
                    nonce += 1;
                    if self.heard.elapsed() > silence {
                        Err(Ended::because(format!("no word from the hub for {:?}", self.heard.elapsed())))
                    } else {
                        self.pinged = (nonce, Instant::now());
                        self.outbox.push_back(ControlUp::Ping { nonce });
                        if nonce % REFUSED_PINGS == 0 {
                            self.ask_again();
                        }
                        Ok(())
                    }
                }
                Some((account, namespaces)) = self.namespaces.1.recv() => {
                    self.tell_namespaces(&account, namespaces);
                    Ok(())
                }
                Ok(()) = ready_rx.changed() => {
                    self.follow_roster();
                    Ok(())
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
            ControlDown::Pong { nonce } => self.ponged(nonce),
            ControlDown::Verdict(verdict) => self.judge(verdict),
            ControlDown::Disconnect { reason, retry_after } => {
                return Err(Ended { reason, retry_after: Some(retry_after) });
            }
            ControlDown::Operation(part) => {
                if let Some(request) = self.operations.push(part).map_err(|invalid| nonsense(&invalid))? {
                    self.uplink.executor.submit(request);
                }
            }
            ControlDown::Cancel(operation) => self.uplink.executor.cancel(operation),
        }
        Ok(())
    }

    fn ponged(&self, nonce: u64) {
        debug!(nonce, "pong");
        let (last, at) = self.pinged;
        if nonce == last {
            self.uplink.metrics.ping_seconds.set(at.elapsed().as_secs_f64());
        }
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
        let Some(served) = self.accounts.get(account) else {
            debug!(%account, "the hub speaks of an account that has left");
            return Ok(());
        };
        // The account's task has just ended, and with it the need to know.
        if served.down_tx.send(message).is_err() {
            debug!("nobody hears this any more");
        }
        Ok(())
    }

    fn results(&mut self, down: Result<Option<v1::ResultsDown>, Status>) -> Result<(), Ended> {
        let message = down
            .map_err(|status| broken(&status))?
            .ok_or_else(|| Ended::because("the hub closed the Results channel"))?;
        let message = ResultsDown::try_from(message).map_err(|invalid| nonsense(&invalid))?;
        self.uplink.executor.results().acknowledge(message);
        Ok(())
    }
}

// === impl Ended ===

impl Ended {
    fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None }
    }
}

/// Sends what there is to answer, until the channel breaks.
async fn send_answers(results: &Results, results_tx: mpsc::Sender<v1::ResultsUp>) {
    loop {
        // The place first: a piece that was taken out is on its way.
        let Ok(permit) = results_tx.reserve().await else { return };
        permit.send(results.next().await.into());
    }
}

fn broken(status: &Status) -> Ended {
    Ended::because(format!("the link broke: {}", status.message()))
}

fn nonsense(invalid: &InvalidMessage) -> Ended {
    Ended::because(format!("the hub said something that makes no sense: {invalid}"))
}

#[cfg(test)]
mod tests;
