//! Tasks of Spinnaker: their requests, states and results.
//!
//! ```text
//! insert ─▶ started ──append, append, …──▶ end ─▶ completed, failed
//!              ▲                           give_up ─▶ failed, retryable
//!              └──────────retry────────────────────────────────┘
//! ```
//!
//! One hub runs a task, its driver, and owns an attempt as long as the row names it: every step names both, so a hub that
//! was taken for gone and is not can write nothing more.

mod journal;
mod row;

use std::time::Duration;

use bytes::Bytes;
use spindrift_model::{HubId, TenantId};
use spindrift_spinnaker::TaskState;

use super::{Store, StoreError, dialect::OnConflict, row::Columns};

pub use journal::{TaskEntry, TaskSeat};
pub use row::{TaskId, TaskRow};

use row::{COLUMNS, word};

/// A task as it is taken on.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub tenant: TenantId,
    pub id: TaskId,
    /// Digest of the caller's own id.
    pub request: String,
    /// The hub that runs it.
    pub driver: HubId,
    /// Owner, as Spinnaker sees it: `<uuid>@<host>`.
    pub owner: String,
    /// Which key encrypts the body.
    pub key_id: String,
    pub body: Bytes,
    /// First status line.
    pub said: Bytes,
}

/// Outcome of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskInserted {
    New,
    /// The same was asked for before.
    Known(TaskId, TaskState),
}

const KNOWN: OnConflict =
    OnConflict { table: "spindrift_task", key: &["tenant", "request"], replaced: &[], only_if: None };

// === impl Store ===

impl Store {
    /// Takes a task on, once for each request; safe on disk before this returns.
    pub async fn insert_task(&self, new: &NewTask) -> Result<TaskInserted, StoreError> {
        let NewTask { tenant, id, request, driver, owner, key_id, body, said } = new;
        let mut connection = self.journal("connect to insert a task", true).await?;
        self.statement(
            "INSERT INTO spindrift_task (tenant, id, request, state, attempt, driver, owner, created_at, ended_at, \
             key_id, body, results) VALUES (?, ?, ?, 'started', 0, ?, ?, {now}, 0, ?, ?, ?)",
        )
        .push(&self.dialect.on_conflict(&KNOWN))
        .bind(tenant.as_str())
        .bind(&*id.to_string())
        .bind(&**request)
        .bind(driver.as_str())
        .bind(&**owner)
        .bind(&**key_id)
        .bind(&**body)
        .bind(&[][..])
        .execute("insert a task", &mut connection)
        .await?;
        let text = "SELECT id, state FROM spindrift_task WHERE tenant = ? AND request = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&**request);
        let step = "read who inserted a task";
        let row = statement.fetch_optional(step, &mut connection).await?;
        let row = row.ok_or_else(|| StoreError::at(step)(sqlx::Error::RowNotFound))?;
        let known = TaskId::read(&row, "id")?;
        if known == *id {
            let seat = TaskSeat { tenant, id: *id, attempt: 0, driver };
            let entry = TaskEntry { number: 0, said: said.clone(), learned: Bytes::new() };
            self.append(&seat, &entry, &mut connection).await?;
        }
        let state = row::state(&row)?;
        self.relax(true, connection).await?;
        Ok(if known == *id { TaskInserted::New } else { TaskInserted::Known(known, state) })
    }

    /// Restarts a failed task that may be retried; returns the number of the attempt, if this caller may run it.
    pub async fn retry_task(&self, known: TaskId, new: &NewTask) -> Result<Option<u32>, StoreError> {
        let NewTask { tenant, driver, owner, key_id, body, said, .. } = new;
        let mut transaction = self.begin("begin to retry a task").await?;
        let retried = self
            .statement(
                "UPDATE spindrift_task SET state = 'started', attempt = attempt + 1, ended_at = 0, driver = ?, \
                 owner = ?, key_id = ?, body = ?, results = ? WHERE tenant = ? AND id = ? AND state = 'retryable'",
            )
            .bind(driver.as_str())
            .bind(&**owner)
            .bind(&**key_id)
            .bind(&**body)
            .bind(&[][..])
            .bind(tenant.as_str())
            .bind(&*known.to_string())
            .execute("retry a task", &mut transaction)
            .await?;
        if retried == 0 {
            return Ok(None);
        }
        let text = "SELECT attempt FROM spindrift_task WHERE tenant = ? AND id = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*known.to_string());
        let row = statement.fetch_optional("read the attempt of a task", &mut transaction).await?;
        let attempt = row.map_or(Ok(0), |row| row::attempt(&row))?;
        let seat = TaskSeat { tenant, id: known, attempt, driver };
        let entry = TaskEntry { number: 0, said: said.clone(), learned: Bytes::new() };
        self.append(&seat, &entry, &mut transaction).await?;
        self.commit_transaction(transaction, "commit the retry of a task").await?;
        Ok(Some(attempt))
    }

    /// Stores the end and the results of a task in one transaction; false if another hub runs it by now.
    pub async fn end_task(
        &self,
        seat: &TaskSeat<'_>,
        state: TaskState,
        last: &TaskEntry,
        results: &[u8],
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin("begin to end a task").await?;
        self.append(seat, last, &mut transaction).await?;
        let ended = self
            .statement(format!(
                "UPDATE spindrift_task SET state = '{}', ended_at = {{now}}, body = ?, results = ? \
                 WHERE tenant = ? AND id = ? AND attempt = ? AND driver = ? AND ended_at = 0",
                word(state)
            ))
            .bind(&[][..])
            .bind(results)
            .bind(seat.tenant.as_str())
            .bind(&*seat.id.to_string())
            .bind(i64::from(seat.attempt))
            .bind(seat.driver.as_str())
            .execute("end a task", &mut transaction)
            .await?;
        if ended == 0 {
            return Ok(false);
        }
        self.erase(seat.tenant, seat.id, &mut transaction).await?;
        self.commit_transaction(transaction, "commit the end of a task").await?;
        Ok(true)
    }

    /// Ends a task though it may still be at work; false if it has ended, or was never known.
    pub async fn give_up_task(
        &self,
        tenant: &TenantId,
        id: TaskId,
        state: TaskState,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin("begin to give a task up").await?;
        let ended = self
            .statement(format!(
                "UPDATE spindrift_task SET state = '{}', ended_at = {{now}}, body = ? \
                 WHERE tenant = ? AND id = ? AND ended_at = 0",
                word(state)
            ))
            .bind(&[][..])
            .bind(tenant.as_str())
            .bind(&*id.to_string())
            .execute("give a task up", &mut transaction)
            .await?;
        if ended == 0 {
            return Ok(false);
        }
        self.erase(tenant, id, &mut transaction).await?;
        self.commit_transaction(transaction, "commit that a task was given up").await?;
        Ok(true)
    }

    /// One task.
    pub async fn task(&self, tenant: &TenantId, id: TaskId) -> Result<Option<TaskRow>, StoreError> {
        let mut connection = self.reader("connect to read a task").await?;
        let statement = self.statement(COLUMNS).push(" WHERE tenant = ? AND id = ?");
        let statement = statement.bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read a task", &mut connection).await?;
        row.as_ref().map(TaskRow::read).transpose()
    }

    /// Tasks that have not ended, of one hub or of all, the oldest first.
    pub async fn open_tasks(
        &self,
        tenant: &TenantId,
        driver: Option<&HubId>,
    ) -> Result<Vec<TaskRow>, StoreError> {
        let statement =
            self.statement(COLUMNS).push(" WHERE tenant = ? AND ended_at = 0").bind(tenant.as_str());
        let statement = match driver {
            Some(driver) => statement.push(" AND driver = ?").bind(driver.as_str()),
            None => statement,
        };
        let mut connection = self.reader("connect to read open tasks").await?;
        let statement = statement.push(" ORDER BY created_at, id");
        let rows = statement.fetch_all("read open tasks", &mut connection).await?;
        rows.iter().map(TaskRow::read).collect()
    }

    /// Returns the request, encrypted, and the id of its key; none once the task has ended.
    pub async fn task_body(
        &self,
        tenant: &TenantId,
        id: TaskId,
    ) -> Result<Option<(String, Bytes)>, StoreError> {
        let mut connection = self.reader("connect to read what a task is asked").await?;
        let text = "SELECT key_id, body FROM spindrift_task WHERE tenant = ? AND id = ? AND ended_at = 0";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let row = statement.fetch_optional("read what a task is asked", &mut connection).await?;
        row.map(|row| Ok((row.text("key_id")?.to_owned(), row.bytes("body")?))).transpose()
    }

    /// Takes over the tasks of hubs that were last alive longer ago than this.
    pub async fn adopt_tasks(
        &self,
        tenant: &TenantId,
        hub: &HubId,
        owner: &str,
        silent: Duration,
    ) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to take tasks over").await?;
        self.statement(
            "UPDATE spindrift_task SET driver = ?, owner = ? WHERE tenant = ? AND ended_at = 0 AND driver <> ? \
             AND driver NOT IN (SELECT id FROM spindrift_hub WHERE last_seen >= {now} - ?)",
        )
        .bind(hub.as_str())
        .bind(owner)
        .bind(tenant.as_str())
        .bind(hub.as_str())
        .bind(silent)
        .execute("take tasks over", &mut connection)
        .await
    }

    /// Releases the tasks that this hub runs, since it stops: another hub may take them over.
    pub async fn release_tasks(&self, tenant: &TenantId, hub: &HubId) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to let tasks go").await?;
        let text = "UPDATE spindrift_task SET driver = '' WHERE tenant = ? AND driver = ? AND ended_at = 0";
        let statement = self.statement(text).bind(tenant.as_str()).bind(hub.as_str());
        statement.execute("let tasks go", &mut connection).await
    }

    /// Deletes tasks that ended longer ago than this.
    pub async fn purge_tasks(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to purge tasks").await?;
        let text = "DELETE FROM spindrift_task WHERE ended_at > 0 AND ended_at < {now} - ?";
        let purged = self.statement(text).bind(older_than).execute("purge tasks", &mut connection).await?;
        if purged > 0 {
            let text = "DELETE FROM spindrift_task_entry WHERE NOT EXISTS (SELECT 1 FROM spindrift_task \
                        WHERE spindrift_task.tenant = spindrift_task_entry.tenant \
                        AND spindrift_task.id = spindrift_task_entry.task)";
            self.statement(text).execute("purge what purged tasks said", &mut connection).await?;
        }
        Ok(purged)
    }
}
