//! The tokens that open a session's channels: one each, of one use.

use aws_lc_rs::{constant_time, digest};
use spindrift_model::{AgentId, HubId, Incarnation, SessionId, TenantId};
use spindrift_protocol::Channel;

use super::{Store, StoreError, row::Columns};
use crate::hex::hex;

/// Hash of a token, which verifies it and cannot be used as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHash(String);

/// Session of an opened channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub tenant: TenantId,
    pub agent: AgentId,
    pub incarnation: Incarnation,
}

/// Why a token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    #[error("there is no such session")]
    UnknownSession,
    #[error("the session is closed")]
    Closed,
    #[error("the token is not this channel's")]
    Wrong,
    #[error("the token has been used")]
    Used,
    #[error("the token has expired")]
    Expired,
}

// === impl Store ===

impl Store {
    /// Uses up a channel's token; the channel then ends in this hub.
    pub async fn take_token(
        &self,
        id: &SessionId,
        channel: Channel,
        presented: &[u8],
        hub: &HubId,
    ) -> Result<Result<SessionInfo, TokenRefused>, StoreError> {
        let (hash, used) = columns(channel);
        let mut connection = self.writer("connect to take a token").await?;
        let row = self
            .statement(format!(
                "SELECT tenant, agent_id, incarnation, {hash} AS hash, {used} AS used, closed_at, \
                 tokens_expire_at - {{now}} AS ttl FROM spindrift_session WHERE id = ?"
            ))
            .bind(id.as_str())
            .fetch_optional("read a token", &mut connection)
            .await?;
        let Some(row) = row else { return Ok(Err(TokenRefused::UnknownSession)) };

        // The token first: who has none learns nothing about the session.
        let presented = TokenHash::of(presented);
        if constant_time::verify_slices_are_equal(presented.0.as_bytes(), row.text("hash")?.as_bytes())
            .is_err()
        {
            return Ok(Err(TokenRefused::Wrong));
        }
        if row.number("closed_at")? != 0 {
            return Ok(Err(TokenRefused::Closed));
        }
        if row.number("used")? != 0 {
            return Ok(Err(TokenRefused::Used));
        }
        if row.number("ttl")? <= 0 {
            return Ok(Err(TokenRefused::Expired));
        }

        let tenant: TenantId = row.name("tenant")?;
        // Of two that come at once, one changes the row. Operations go where the Control channel ends.
        let seat = if channel == Channel::Control { ", control_hub = ?" } else { "" };
        let mut statement = self.statement(format!(
            "UPDATE spindrift_session SET {used} = 1, last_seen = {{now}}{seat} \
             WHERE tenant = ? AND id = ? AND {used} = 0"
        ));
        if channel == Channel::Control {
            statement = statement.bind(hub.as_str());
        }
        let statement = statement.bind(tenant.as_str()).bind(id.as_str());
        let taken = statement.execute("take a token", &mut connection).await?;
        if taken == 0 {
            return Ok(Err(TokenRefused::Used));
        }
        Ok(Ok(SessionInfo { tenant, agent: row.name("agent_id")?, incarnation: row.name("incarnation")? }))
    }
}

// === impl TokenHash ===

impl TokenHash {
    /// The SHA-256 of a token; tokens are random, so it needs no salt.
    pub fn of(token: &[u8]) -> Self {
        Self(hex(digest::digest(&digest::SHA256, token).as_ref()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn columns(channel: Channel) -> (&'static str, &'static str) {
    match channel {
        Channel::Control => ("control_hash", "control_used"),
        Channel::Events => ("events_hash", "events_used"),
        Channel::Results => ("results_hash", "results_used"),
    }
}
