//! Operations: what was asked of which agent, by which way, and what came of it.
//!
//! ```text
//! insert ─▶ queued ──mark_sent──▶ sent ──end──▶ completed, failed, unknown, cancelled, expired
//!                 ◀──unsend───────┘
//! ```
//!
//! Every step names the state it comes from, so of two hubs that take it, one does. A row is carried on by one hub, its
//! driver.

mod freeze;
mod history;
mod part;
mod purge;
mod route;
mod row;

use std::time::Duration;

use bytes::Bytes;
use spindrift_model::{
    AccountName, AgentId, Content, Ending, HubId, Incarnation, OperationId, Outcome, TenantId,
};

use super::{Store, StoreError, row::Columns};
use crate::store::dialect::OnConflict;

pub use freeze::Freeze;
pub use history::OperationQuery;
pub use part::AnswerPart;
pub use route::{Candidate, Route};
pub use row::{OperationRow, OperationState};

use row::number_of;

/// An operation as it is taken on.
#[derive(Debug, Clone)]
pub struct NewOperation {
    pub tenant: TenantId,
    pub id: OperationId,
    pub account: AccountName,
    pub verb: &'static str,
    /// What it is about, for people to read.
    pub target: String,
    pub mutation: bool,
    /// Of all that was asked: the same id may not be used for something else.
    pub digest: String,
    /// Until its deadline.
    pub time_left: Duration,
    /// The hub that received it, and carries it on.
    pub hub: HubId,
    /// The agent that it is sent to right away.
    pub seat: Option<Seat>,
    /// Which key encrypts the body.
    pub key_id: String,
    pub body: Bytes,
}

/// One life of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub agent: AgentId,
    pub incarnation: Incarnation,
}

/// What became of an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inserted {
    New,
    /// There was one of this id, for this request.
    Known {
        digest: String,
    },
}

/// How an operation ended.
#[derive(Debug, Clone)]
pub struct OperationEnd<'a> {
    pub ending: &'a Ending,
    pub content: Content,
    /// How long the stored answer is.
    pub answer_bytes: Option<u64>,
    /// The hub that the agent's word came to, if it was the agent who said so.
    pub answered_to: Option<&'a HubId>,
}

const KNOWN: OnConflict =
    OnConflict { table: "spindrift_operation", key: &["tenant", "id"], replaced: &[], only_if: None };

const COLUMNS: &str = "SELECT id, account, verb, target, mutation, digest, state, driver, cancelling, created_at, \
    deadline_at - {now} AS time_left, received_by, sent_at, sent_by, agent_id, incarnation, answered_at, \
    answered_to, ended_at, took_ms, code, content, answer_bytes, reason, status FROM spindrift_operation";

/// A stored answer of no length is one; this is none.
const NO_ANSWER: i64 = -1;

// === impl Store ===

impl Store {
    /// Takes an operation on, once for each id. What is sent right away is safe on disk before this returns.
    pub async fn insert_operation(&self, new: &NewOperation) -> Result<Inserted, StoreError> {
        let NewOperation { tenant, id, account, verb, target, mutation, digest, time_left, hub, .. } = new;
        let claim = uuid::Uuid::new_v4().to_string();
        let (state, sent_at, sent_by) = match &new.seat {
            Some(_) => ("sent", "{now}", hub.as_str()),
            None => ("queued", "0", ""),
        };
        let (agent, incarnation) = match &new.seat {
            Some(seat) => (seat.agent.as_str(), seat.incarnation.to_string()),
            None => ("", String::new()),
        };
        let durable = *mutation && new.seat.is_some();
        let mut connection = self.journal("connect to insert an operation", durable).await?;
        self.statement(format!(
            "INSERT INTO spindrift_operation (tenant, id, account, verb, target, mutation, digest, claim, state, \
             driver, cancelling, created_at, deadline_at, received_by, sent_at, sent_by, agent_id, incarnation, \
             answered_at, answered_to, ended_at, took_ms, code, content, answer_bytes, reason, key_id, status, body) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{state}', ?, 0, {{now}}, {{now}} + ?, ?, {sent_at}, ?, ?, ?, 0, '', 0, \
             0, 0, 0, {NO_ANSWER}, '', ?, ?, ?)"
        ))
        .push(&self.dialect.on_conflict(&KNOWN))
        .bind(tenant.as_str())
        .bind(&*id.to_string())
        .bind(account.as_str())
        .bind(*verb)
        .bind(&**target)
        .bind(i64::from(*mutation))
        .bind(&**digest)
        .bind(&*claim)
        .bind(hub.as_str())
        .bind(*time_left)
        .bind(hub.as_str())
        .bind(sent_by)
        .bind(agent)
        .bind(&*incarnation)
        .bind(&*new.key_id)
        .bind(&[][..])
        .bind(&*new.body)
        .execute("insert an operation", &mut connection)
        .await?;
        // The databases do not agree on how many rows an insert that met another has changed.
        let text = "SELECT claim, digest FROM spindrift_operation WHERE tenant = ? AND id = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read who inserted an operation", &mut connection).await?;
        let row =
            row.ok_or_else(|| StoreError::at("read who inserted an operation")(sqlx::Error::RowNotFound))?;
        self.relax(durable, connection).await?;
        Ok(if row.text("claim")? == claim {
            Inserted::New
        } else {
            Inserted::Known { digest: row.text("digest")?.to_owned() }
        })
    }

    /// Says, safe on disk, that the operation is about to be sent; false if it is not ours to send, or its account was
    /// frozen while it waited.
    ///
    /// What changes something is sent to one incarnation only; what only reads may be sent to another one.
    pub async fn mark_sent(
        &self,
        tenant: &TenantId,
        id: OperationId,
        hub: &HubId,
        seat: &Seat,
    ) -> Result<bool, StoreError> {
        let mut connection = self.journal("connect to mark an operation sent", true).await?;
        let marked = self
            .statement(
                "UPDATE spindrift_operation SET state = 'sent', sent_at = {now}, sent_by = ?, agent_id = ?, \
                 incarnation = ? WHERE tenant = ? AND id = ? AND driver = ? AND ended_at = 0 \
                 AND (mutation = 0 OR state = 'queued' AND NOT EXISTS (SELECT 1 FROM spindrift_freeze f \
                 WHERE f.tenant = spindrift_operation.tenant AND f.account = spindrift_operation.account))",
            )
            .bind(hub.as_str())
            .bind(seat.agent.as_str())
            .bind(&*seat.incarnation.to_string())
            .bind(tenant.as_str())
            .bind(&*id.to_string())
            .bind(hub.as_str())
            .execute("mark an operation sent", &mut connection)
            .await?;
        self.relax(true, connection).await?;
        Ok(marked > 0)
    }

    /// Takes that back: not all of it had left this hub, so no agent has begun.
    pub async fn unsend(&self, tenant: &TenantId, id: OperationId, hub: &HubId) -> Result<bool, StoreError> {
        let text = "UPDATE spindrift_operation SET state = 'queued', sent_at = 0, sent_by = '', agent_id = '', \
                    incarnation = '' WHERE tenant = ? AND id = ? AND driver = ? AND state = 'sent'";
        self.step(text, "take an operation back", &[tenant.as_str(), &id.to_string(), hub.as_str()]).await
    }

    /// Lets another hub carry it on; false if it is not ours to give.
    pub async fn hand_over(
        &self,
        tenant: &TenantId,
        id: OperationId,
        from: &HubId,
        to: &HubId,
    ) -> Result<bool, StoreError> {
        let text = "UPDATE spindrift_operation SET driver = ? \
                    WHERE tenant = ? AND id = ? AND driver = ? AND ended_at = 0";
        let values = [to.as_str(), tenant.as_str(), &id.to_string(), from.as_str()];
        self.step(text, "hand an operation over", &values).await
    }

    /// Asks whoever carries it on to call it off; false if it has ended.
    pub async fn cancel_operation(&self, tenant: &TenantId, id: OperationId) -> Result<bool, StoreError> {
        let text =
            "UPDATE spindrift_operation SET cancelling = 1 WHERE tenant = ? AND id = ? AND ended_at = 0";
        self.step(text, "cancel an operation", &[tenant.as_str(), &id.to_string()]).await
    }

    /// Says how it ended, and erases what was asked; false if that was said before.
    ///
    /// That nobody knew is no last word: an agent's own word, should it still come, takes its place.
    pub async fn end_operation(
        &self,
        tenant: &TenantId,
        id: OperationId,
        end: &OperationEnd<'_>,
    ) -> Result<bool, StoreError> {
        let OperationEnd { ending, content, answer_bytes, answered_to } = end;
        let (code, reason, status): (u16, &str, &[u8]) = match &ending.outcome {
            Outcome::Succeeded { code } => (*code, "", &[]),
            Outcome::Failed { code, status } => (*code, "", status),
            Outcome::Unknown { reason } => (0, reason, &[]),
            Outcome::Cancelled | Outcome::Expired => (0, "", &[]),
        };
        let answered_at = if answered_to.is_some() { "{now}" } else { "0" };
        let open = if answered_to.is_some() { "(ended_at = 0 OR state = 'unknown')" } else { "ended_at = 0" };
        let mut connection = self.writer("connect to end an operation").await?;
        let ended = self
            .statement(format!(
                "UPDATE spindrift_operation SET state = '{}', ended_at = {{now}}, took_ms = ?, code = ?, content = ?, \
                 answer_bytes = ?, reason = ?, status = ?, answered_at = {answered_at}, answered_to = ?, body = ? \
                 WHERE tenant = ? AND id = ? AND {open}",
                ending.outcome.word()
            ))
            .bind(ending.took)
            .bind(i64::from(code))
            .bind(number_of(*content))
            .bind(answer_bytes.map_or(NO_ANSWER, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
            .bind(reason)
            .bind(status)
            .bind(answered_to.map_or("", |hub| hub.as_str()))
            .bind(&[][..])
            .bind(tenant.as_str())
            .bind(&*id.to_string())
            .execute("end an operation", &mut connection)
            .await?;
        Ok(ended > 0)
    }

    /// One operation.
    pub async fn operation(
        &self,
        tenant: &TenantId,
        id: OperationId,
    ) -> Result<Option<OperationRow>, StoreError> {
        let mut connection = self.reader("connect to read an operation").await?;
        let statement = self.statement(COLUMNS).push(" WHERE tenant = ? AND id = ?");
        let statement = statement.bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read an operation", &mut connection).await?;
        row.as_ref().map(OperationRow::read).transpose()
    }

    /// What was asked, encrypted, and by which key.
    pub async fn operation_body(
        &self,
        tenant: &TenantId,
        id: OperationId,
    ) -> Result<Option<(String, Bytes)>, StoreError> {
        let mut connection = self.reader("connect to read a request").await?;
        let text =
            "SELECT key_id, body FROM spindrift_operation WHERE tenant = ? AND id = ? AND ended_at = 0";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read a request", &mut connection).await?;
        row.map(|row| Ok((row.text("key_id")?.to_owned(), row.bytes("body")?))).transpose()
    }

    /// Operations that have not ended and are this hub's to carry on.
    pub async fn open_operations(
        &self,
        tenant: &TenantId,
        hub: &HubId,
    ) -> Result<Vec<OperationRow>, StoreError> {
        let mut connection = self.reader("connect to read open operations").await?;
        let statement = self.statement(COLUMNS).push(" WHERE tenant = ? AND driver = ? AND ended_at = 0");
        let statement = statement.push(" ORDER BY created_at, id").bind(tenant.as_str()).bind(hub.as_str());
        let rows = statement.fetch_all("read open operations", &mut connection).await?;
        rows.iter().map(OperationRow::read).collect()
    }

    /// Takes over what hubs were carrying on that have not been heard of for so long.
    pub async fn adopt_operations(
        &self,
        tenant: &TenantId,
        hub: &HubId,
        silent: Duration,
    ) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to take operations over").await?;
        self.statement(
            "UPDATE spindrift_operation SET driver = ? WHERE tenant = ? AND ended_at = 0 AND driver <> ? \
             AND driver NOT IN (SELECT id FROM spindrift_hub WHERE last_seen >= {now} - ?)",
        )
        .bind(hub.as_str())
        .bind(tenant.as_str())
        .bind(hub.as_str())
        .bind(silent)
        .execute("take operations over", &mut connection)
        .await
    }

    async fn step(&self, text: &str, step: &'static str, values: &[&str]) -> Result<bool, StoreError> {
        let mut connection = self.writer(step).await?;
        let statement = values.iter().fold(self.statement(text), |statement, value| statement.bind(*value));
        Ok(statement.execute(step, &mut connection).await? > 0)
    }
}
