//! The Control channel: a session lives as long as its pings come.

use std::sync::Arc;

use futures::{Stream, StreamExt};
use spindrift_model::SessionId;
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::{ControlDown, ControlUp, v1};
use tokio::sync::mpsc;
use tonic::Status;
use tracing::{debug, info, warn};

use super::{Context, sessions::Live};
use crate::store::SessionInfo;

/// Silence of this many heartbeats is a dead link.
const MISSED_HEARTBEATS: u32 = 3;

pub(super) struct ControlChannel {
    pub(super) context: Arc<Context>,
    pub(super) session: SessionId,
    pub(super) info: SessionInfo,
    pub(super) live: Arc<Live>,
    pub(super) down_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
}

// === impl ControlChannel ===

impl ControlChannel {
    /// Runs until the agent leaves, falls silent, or the session ends; then the whole session ends.
    pub(super) async fn run(
        self,
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

    async fn serve(&self, mut up: impl Stream<Item = Result<v1::ControlUp, Status>> + Unpin) -> String {
        let token = self.live.tasks().token();
        let silence = self.context.config.heartbeat * MISSED_HEARTBEATS;
        loop {
            let message = tokio::select! {
                biased;
                () = token.cancelled() => {
                    self.disconnect("the hub ends this session").await;
                    return "ended by the hub".into();
                }
                message = tokio::time::timeout(silence, up.next()) => message,
            };
            let message = match message {
                Err(_) => return format!("no ping for {silence:?}"),
                Ok(None) => return "the agent closed it".into(),
                Ok(Some(Err(status))) => return format!("the link broke: {}", status.message()),
                Ok(Some(Ok(message))) => message,
            };
            match ControlUp::try_from(message) {
                Ok(message) => {
                    if let Err(reason) = self.handle(message).await {
                        return reason;
                    }
                }
                Err(invalid) => {
                    // One message that makes no sense is no reason to drop a thousand accounts.
                    warn!(agent = %self.info.agent, %invalid, "control message ignored");
                }
            }
        }
    }

    async fn handle(&self, message: ControlUp) -> Result<(), String> {
        match message {
            ControlUp::Ping { nonce } => {
                self.send(ControlDown::Pong { nonce }).await?;
                match self.context.store.touch_session(&self.session).await {
                    Ok(true) => {}
                    Ok(false) => {
                        self.disconnect("a newer session of this agent has replaced this one").await;
                        return Err("replaced by a newer session".into());
                    }
                    Err(error) => debug!(%error, "a ping was not recorded"),
                }
            }
            ControlUp::Announce(accounts) => match self.context.announce(&self.info.agent, accounts).await {
                Ok(verdicts) => {
                    for verdict in verdicts {
                        self.send(ControlDown::Verdict(verdict)).await?;
                    }
                }
                Err(error) => return Err(format!("announced accounts were not recorded: {error}")),
            },
            ControlUp::Withdraw(account) => {
                info!(agent = %self.info.agent, %account, "account withdrawn");
            }
        }
        Ok(())
    }

    async fn disconnect(&self, reason: &str) {
        // Jitter keeps the agents of a hub that stops from coming back in step.
        let retry_after = std::time::Duration::from_millis(fastrand::u64(100..1000));
        if let Err(gone) = self.send(ControlDown::Disconnect { reason: reason.into(), retry_after }).await {
            debug!(gone, "the agent did not hear the goodbye");
        }
    }

    async fn send(&self, message: ControlDown) -> Result<(), String> {
        self.down_tx.send(Ok(message.into())).await.map_err(|_| "the agent is gone".to_owned())
    }
}
