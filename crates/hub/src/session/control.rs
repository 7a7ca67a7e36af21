//! Control channel: a session lasts as long as its pings arrive.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use prost::Message as _;
use spindrift_model::SessionId;
use spindrift_process::{serve::ByteHold, shutdown::BoxError};
use spindrift_protocol::{ControlDown, ControlUp, Verdict, flow::MISSED_HEARTBEATS, v1};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tonic::Status;
use tracing::{debug, info, warn};

use super::{
    Context,
    sessions::{LiveSession, replaced},
};
use crate::store::{SessionInfo, StoreError};

/// Announcements and withdrawals that wait for the store; an agent that sends more while it does not answer is broken.
const BACKLOG: usize = 1024;

/// Bytes of these on the wire: two of the largest messages, or 1,024 announcements of 16 KB each.
const BACKLOG_BYTES: usize = 16 * 1024 * 1024;

/// Unavailable accounts of one agent that are recorded.
const UNAVAILABLE: usize = 4096;

pub(super) struct ControlChannel {
    context: Arc<Context>,
    session: SessionId,
    info: SessionInfo,
    live: Arc<LiveSession>,
    down_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
    /// Calls of the store, while pings are answered: at most one touch, and one change of accounts.
    work: FuturesUnordered<Work>,
    touching: bool,
    /// Changes of accounts with their bytes on the wire, made one after the other; the first is in progress.
    changes: VecDeque<(ControlUp, usize)>,
    /// Sum of these bytes.
    change_bytes: usize,
    /// The same bytes within the budget of all sessions.
    queued: ByteHold,
}

type Work = Pin<Box<dyn Future<Output = Done> + Send>>;

/// Result of a call of the store.
enum Done {
    Touched(Result<bool, StoreError>),
    Announced(Result<Vec<Verdict>, StoreError>),
    /// An account was withdrawn, or unavailable ones were recorded.
    Withdrawn(Result<(), StoreError>),
}

/// Reason of the end of the session.
type Ended = String;

// === impl ControlChannel ===

impl ControlChannel {
    pub(super) fn new(
        context: Arc<Context>,
        session: SessionId,
        info: SessionInfo,
        live: Arc<LiveSession>,
        down_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
        queued: ByteHold,
    ) -> Self {
        let work = FuturesUnordered::new();
        let changes = VecDeque::new();
        Self {
            context,
            session,
            info,
            live,
            down_tx,
            work,
            touching: false,
            changes,
            change_bytes: 0,
            queued,
        }
    }

    /// Runs until the agent disconnects, its pings stop, or the session ends; then the whole session ends.
    pub(super) async fn run(
        mut self,
        up: impl Stream<Item = Result<v1::ControlUp, Status>> + Unpin,
    ) -> Result<(), BoxError> {
        let gauge = self.context.metrics.sessions.clone();
        gauge.inc();
        let reason = self.serve(up).await;
        gauge.dec();
        info!(agent = %self.info.agent, session = %self.session, reason, "session ended");
        self.live.tasks().cancel();
        if let Err(error) = self.context.store.close_session(&self.session).await {
            debug!(%error, "the end of a session was not recorded");
        }
        Ok(())
    }

    async fn serve(&mut self, mut up: impl Stream<Item = Result<v1::ControlUp, Status>> + Unpin) -> Ended {
        let token = self.live.tasks().token();
        let silence = self.context.config.heartbeat * MISSED_HEARTBEATS;
        let mut received = Instant::now();
        loop {
            let step = tokio::select! {
                biased;
                () = token.cancelled() => {
                    let reason = self.live.end_reason().to_owned();
                    self.disconnect(&reason).await;
                    return reason;
                }
                Some(done) = self.work.next() => self.finish(done).await,
                message = timeout_at(received + silence, up.next()) => {
                    received = Instant::now();
                    match message {
                        Err(_) => Err(format!("no ping for {silence:?}")),
                        Ok(None) => Err("the agent closed it".into()),
                        Ok(Some(Err(status))) => Err(format!("the link broke: {}", status.message())),
                        Ok(Some(Ok(message))) => self.receive(message).await,
                    }
                }
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    async fn receive(&mut self, message: v1::ControlUp) -> Result<(), Ended> {
        let bytes = message.encoded_len();
        match ControlUp::try_from(message) {
            Ok(ControlUp::Ping { nonce }) => {
                self.touch();
                self.send(ControlDown::Pong { nonce }).await
            }
            Ok(change @ (ControlUp::Announce(_) | ControlUp::Withdraw(_) | ControlUp::Unavailable(_))) => {
                if self.changes.len() >= BACKLOG {
                    return Err(format!("{BACKLOG} changes of accounts wait for the store"));
                }
                self.change_bytes += bytes;
                if self.change_bytes > BACKLOG_BYTES {
                    let waiting = self.changes.len();
                    return Err(format!(
                        "{waiting} changes of accounts wait for the store, of more than {BACKLOG_BYTES} bytes"
                    ));
                }
                self.queued.resize(self.change_bytes).map_err(|exceeded| exceeded.to_string())?;
                self.changes.push_back((change, bytes));
                if self.changes.len() == 1 {
                    self.change();
                }
                Ok(())
            }
            Err(invalid) => {
                // One invalid message is no reason to drop a thousand accounts.
                warn!(agent = %self.info.agent, %invalid, "control message ignored");
                Ok(())
            }
        }
    }

    /// Records the heartbeat; while the store is slow, one at a time.
    fn touch(&mut self) {
        if std::mem::replace(&mut self.touching, true) {
            return;
        }
        let (context, session) = (Arc::clone(&self.context), self.session.clone());
        self.work.push(async move { Done::Touched(context.store.touch_session(&session).await) }.boxed());
    }

    /// Starts the first waiting change of accounts.
    fn change(&mut self) {
        let (context, session, info) = (Arc::clone(&self.context), self.session.clone(), self.info.clone());
        let work = match self.changes.front().map(|(change, _)| change.clone()) {
            Some(ControlUp::Announce(accounts)) => async move {
                let announced = async {
                    let verdicts = context.announce(&info.agent, Some(&session), accounts).await?;
                    let accepted = verdicts.iter().filter(|verdict| verdict.refused.is_none());
                    let accepted: Vec<_> = accepted.map(|verdict| verdict.account.clone()).collect();
                    context.store.accept(&info.tenant, &session, &accepted).await?;
                    Ok(verdicts)
                };
                Done::Announced(announced.await)
            }
            .boxed(),
            Some(ControlUp::Withdraw(account)) => {
                info!(agent = %info.agent, %account, "account withdrawn");
                async move { Done::Withdrawn(context.store.withdraw(&info.tenant, &session, &account).await) }
                    .boxed()
            }
            Some(ControlUp::Unavailable(mut accounts)) => {
                if accounts.len() > UNAVAILABLE {
                    let total = accounts.len();
                    warn!(agent = %info.agent, total, shown = UNAVAILABLE, "too many unavailable accounts");
                    accounts.truncate(UNAVAILABLE);
                }
                async move {
                    let recorded = context.store.replace_unavailable(&info.tenant, &session, &accounts).await;
                    Done::Withdrawn(recorded)
                }
                .boxed()
            }
            Some(ControlUp::Ping { .. }) | None => return,
        };
        self.work.push(work);
    }

    async fn finish(&mut self, done: Done) -> Result<(), Ended> {
        match done {
            Done::Touched(touched) => {
                self.touching = false;
                match touched {
                    Ok(true) => {}
                    Ok(false) => {
                        self.disconnect(&replaced(&self.info.agent)).await;
                        return Err("replaced by a newer session".into());
                    }
                    Err(error) => debug!(%error, "a ping was not recorded"),
                }
                return Ok(());
            }
            Done::Announced(Ok(verdicts)) => {
                for verdict in verdicts {
                    self.send(ControlDown::Verdict(verdict)).await?;
                }
            }
            Done::Withdrawn(Ok(())) => {}
            // The agent registers again, with the accounts that it has then.
            Done::Announced(Err(error)) | Done::Withdrawn(Err(error)) => {
                return Err(format!("a change of accounts was not recorded: {error}"));
            }
        }
        if let Some((_, bytes)) = self.changes.pop_front() {
            self.change_bytes -= bytes;
            self.queued.resize(self.change_bytes).map_err(|exceeded| exceeded.to_string())?;
        }
        self.change();
        Ok(())
    }

    async fn disconnect(&mut self, reason: &str) {
        // Jitter keeps the agents of a stopping hub from reconnecting at once.
        let retry_after = Duration::from_millis(fastrand::u64(100..1000));
        if let Err(gone) = self.send(ControlDown::Disconnect { reason: reason.into(), retry_after }).await {
            debug!(gone, "the disconnect message was not sent");
        }
    }

    async fn send(&mut self, message: ControlDown) -> Result<(), Ended> {
        self.down_tx.send(Ok(message.into())).await.map_err(|_| "the agent is gone".to_owned())
    }
}
