//! Operations: their requests, the agents that run them, and their outcomes.
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
mod step;

use std::time::Duration;

use bytes::Bytes;
use spindrift_model::{AccountName, AgentId, HubId, Incarnation, OperationId, TenantId};

use super::{Store, StoreError, row::Columns};
use crate::store::dialect::OnConflict;

pub use freeze::Freeze;
pub use history::OperationQuery;
pub use part::AnswerPart;
pub use route::{Candidate, Route};
pub use row::{OperationRow, OperationState};
pub use step::{OperationEnd, Step, Stepped};

/// An operation as it is taken on.
#[derive(Debug, Clone)]
pub struct NewOperation {
    pub tenant: TenantId,
    pub id: OperationId,
    pub account: AccountName,
    pub verb: &'static str,
    /// Target, as text for people.
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

/// Outcome of an insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inserted {
    New,
    /// There was one of this id, for this request.
    Known {
        digest: String,
    },
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
    /// Takes an operation on by itself.
    pub async fn insert_operation(&self, new: &NewOperation) -> Result<Inserted, StoreError> {
        Ok(self.take_step(&Step::Insert(Box::new(new.clone()))).await?.into())
    }

    /// Records that an operation is about to be sent; false if another hub drives it, or if its account was frozen while
    /// it waited.
    pub async fn mark_sent(
        &self,
        tenant: &TenantId,
        id: OperationId,
        hub: &HubId,
        seat: &Seat,
    ) -> Result<bool, StoreError> {
        let step = Step::MarkSent { tenant: tenant.clone(), id, hub: hub.clone(), seat: seat.clone() };
        Ok(self.take_step(&step).await?.taken)
    }

    /// Stores the end of one operation; false if it had ended before.
    pub async fn end_operation(
        &self,
        tenant: &TenantId,
        id: OperationId,
        end: &OperationEnd,
    ) -> Result<bool, StoreError> {
        let step = Step::End { tenant: tenant.clone(), id, end: end.clone() };
        Ok(self.take_step(&step).await?.taken)
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

    /// Requests its cancellation from its driver; false if it has ended.
    pub async fn cancel_operation(&self, tenant: &TenantId, id: OperationId) -> Result<bool, StoreError> {
        let text =
            "UPDATE spindrift_operation SET cancelling = 1 WHERE tenant = ? AND id = ? AND ended_at = 0";
        self.step(text, "cancel an operation", &[tenant.as_str(), &id.to_string()]).await
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

    /// Returns the request, encrypted, and the id of its key.
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

    /// Takes over the operations of hubs that were last alive longer ago than this.
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

// === impl Inserted ===

impl From<Stepped> for Inserted {
    fn from(Stepped { taken, digest }: Stepped) -> Self {
        if taken { Self::New } else { Self::Known { digest: digest.unwrap_or_default() } }
    }
}
