//! Sessions whose Control channel is not at this hub: they end when its pings stop arriving in the store.
//!
//! The Control channel ends its session when pings stop. A proxy may have sent that channel to another hub, and a broken
//! agent may never open it.

use std::sync::Arc;

use spindrift_model::SessionId;
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::flow::MISSED_HEARTBEATS;
use tracing::{debug, info};

use super::{Context, sessions::LiveSession};

impl Context {
    /// Ends a session without a Control channel here when it was not touched for too long. While the store does not
    /// answer, nothing is concluded.
    pub(super) async fn watch_liveness(
        self: Arc<Self>,
        session: SessionId,
        live: Arc<LiveSession>,
    ) -> Result<(), BoxError> {
        let token = live.tasks().token();
        let mut missed = 0;
        while token.run_until_cancelled(tokio::time::sleep(self.config.heartbeat)).await.is_some() {
            if live.has_control() {
                return Ok(());
            }
            match self.store.session_is_live(&session, self.config.heartbeat * MISSED_HEARTBEATS).await {
                Ok(true) => missed = 0,
                Ok(false) => missed += 1,
                Err(error) => debug!(%session, %error, "the liveness of a session was not read"),
            }
            // Several times: after an outage of the store, the first touch may still be on its way.
            if missed >= MISSED_HEARTBEATS {
                info!(%session, "session ended: no ping on a Control channel");
                live.tasks().cancel();
                if let Err(error) = self.store.close_session(&session).await {
                    debug!(%session, %error, "the end of a session was not recorded");
                }
                return Ok(());
            }
        }
        Ok(())
    }
}
