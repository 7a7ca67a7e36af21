//! Steps of several operations in one transaction: a commit costs one wait for the disk, however many rows it has.

use spindrift_model::{Content, Ending, FailedState, HubId, OperationId, Outcome, TenantId};
use sqlx::{AnyConnection, Connection};

use super::{KNOWN, NO_ANSWER, NewOperation, Seat, row::number_of};
use crate::store::{Store, StoreError, row::Columns};

/// A step of an operation's life.
#[derive(Debug, Clone)]
pub enum Step {
    /// It is taken on, once for each id.
    Insert(Box<NewOperation>),
    /// It is about to be sent. A change is sent to one incarnation only; a read may be sent to another one. Refused if
    /// its account was frozen while it waited.
    MarkSent { tenant: TenantId, id: OperationId, hub: HubId, seat: Seat },
    /// It has ended, and its request is erased. An unknown outcome is not final: a later report of the agent replaces
    /// it.
    End { tenant: TenantId, id: OperationId, end: OperationEnd },
}

/// End of an operation.
#[derive(Debug, Clone)]
pub struct OperationEnd {
    pub ending: Ending,
    pub content: Content,
    /// Length of the stored result.
    pub answer_bytes: Option<u64>,
    /// Hub that received the outcome, if the agent reported it.
    pub answered_to: Option<HubId>,
}

/// Outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    /// False: it was taken before, or was another's to take.
    pub taken: bool,
    /// Of an operation that was there before it was to be inserted.
    pub digest: Option<String>,
}

const CONNECT: &str = "connect to take steps of operations";

// === impl Store ===

impl Store {
    /// Takes one step; an operation that is about to be sent is on disk when this returns.
    pub async fn take_step(&self, step: &Step) -> Result<Stepped, StoreError> {
        let mut connection = self.journal(CONNECT, step.is_durable()).await?;
        let stepped = self.take(step, &mut connection).await?;
        self.relax(step.is_durable(), connection).await?;
        Ok(stepped)
    }

    /// Takes all steps or none, in one commit; operations that are about to be sent are on disk when this returns.
    pub async fn take_steps(&self, steps: &[Step]) -> Result<Vec<Stepped>, StoreError> {
        let durable = steps.iter().any(Step::is_durable);
        let mut connection = self.journal(CONNECT, durable).await?;
        let begun = connection.begin_with(self.dialect.begin()).await;
        let mut transaction =
            begun.map_err(|error| self.failures.failed("begin to take steps of operations", error))?;
        let mut all = Vec::with_capacity(steps.len());
        for step in steps {
            all.push(self.take(step, &mut transaction).await?);
        }
        self.commit_transaction(transaction, "commit steps of operations").await?;
        self.relax(durable, connection).await?;
        Ok(all)
    }

    async fn take(&self, step: &Step, connection: &mut AnyConnection) -> Result<Stepped, StoreError> {
        let taken = match step {
            Step::Insert(new) => return self.insert(new, connection).await,
            Step::MarkSent { tenant, id, hub, seat } => self.mark(tenant, *id, hub, seat, connection).await?,
            Step::End { tenant, id, end } => self.end(tenant, *id, end, connection).await?,
        };
        Ok(Stepped { taken, digest: None })
    }

    async fn insert(
        &self,
        new: &NewOperation,
        connection: &mut AnyConnection,
    ) -> Result<Stepped, StoreError> {
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
        let inserted = self
            .statement(format!(
                "INSERT INTO spindrift_operation (tenant, id, account, verb, target, mutation, digest, claim, state, \
                 driver, cancelling, created_at, deadline_at, received_by, sent_at, sent_by, agent_id, incarnation, \
                 answered_at, answered_to, ended_at, took_ms, code, content, answer_bytes, reason, key_id, status, \
                 body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{state}', ?, 0, {{now}}, {{now}} + ?, ?, {sent_at}, ?, ?, ?, \
                 0, '', 0, 0, 0, 0, {NO_ANSWER}, '', ?, ?, ?)"
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
            .execute("insert an operation", connection)
            .await?;
        if inserted > 0 && self.dialect.counts_inserted() {
            return Ok(Stepped { taken: true, digest: None });
        }
        let text = "SELECT claim, digest FROM spindrift_operation WHERE tenant = ? AND id = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read who inserted an operation", connection).await?;
        let row =
            row.ok_or_else(|| StoreError::at("read who inserted an operation")(sqlx::Error::RowNotFound))?;
        let taken = row.text("claim")? == claim;
        Ok(Stepped { taken, digest: (!taken).then(|| row.text("digest").map(str::to_owned)).transpose()? })
    }

    async fn mark(
        &self,
        tenant: &TenantId,
        id: OperationId,
        hub: &HubId,
        seat: &Seat,
        connection: &mut AnyConnection,
    ) -> Result<bool, StoreError> {
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
            .execute("mark an operation sent", connection)
            .await?;
        Ok(marked > 0)
    }

    async fn end(
        &self,
        tenant: &TenantId,
        id: OperationId,
        end: &OperationEnd,
        connection: &mut AnyConnection,
    ) -> Result<bool, StoreError> {
        let OperationEnd { ending, content, answer_bytes, answered_to } = end;
        let unknown;
        let (code, reason, status): (u16, &str, &[u8]) = match &ending.outcome {
            Outcome::Succeeded { code } => (*code, "", &[]),
            Outcome::Failed(error) => match error.state() {
                FailedState::Failed => (error.code, error.kind.word(), &error.status),
                FailedState::Unknown => {
                    unknown = error.message();
                    (0, &unknown, &[])
                }
                FailedState::Cancelled | FailedState::Expired => (0, "", &[]),
            },
        };
        let answered_at = if answered_to.is_some() { "{now}" } else { "0" };
        let open = if answered_to.is_some() { "(ended_at = 0 OR state = 'unknown')" } else { "ended_at = 0" };
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
            .bind(answered_to.as_ref().map_or("", HubId::as_str))
            .bind(&[][..])
            .bind(tenant.as_str())
            .bind(&*id.to_string())
            .execute("end an operation", connection)
            .await?;
        Ok(ended > 0)
    }
}

// === impl Step ===

impl Step {
    /// Whether something is sent when it has been taken, which must not be forgotten.
    fn is_durable(&self) -> bool {
        match self {
            Self::Insert(new) => new.mutation && new.seat.is_some(),
            Self::MarkSent { .. } => true,
            Self::End { .. } => false,
        }
    }

    /// Id of the operation.
    pub fn operation(&self) -> OperationId {
        match self {
            Self::Insert(new) => new.id,
            Self::MarkSent { id, .. } | Self::End { id, .. } => *id,
        }
    }

    /// Size of the step in a transaction.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Insert(new) => new.body.len(),
            Self::MarkSent { .. } | Self::End { .. } => 0,
        }
    }
}
