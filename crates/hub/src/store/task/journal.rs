//! Journal of a task: its status lines and findings, in order; enough to run it again without repeating a change.

use bytes::Bytes;
use spindrift_model::{HubId, TenantId};
use sqlx::AnyConnection;

use super::TaskId;
use crate::store::{Store, StoreError, row::Columns};

/// Hub that runs an attempt of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskSeat<'a> {
    pub tenant: &'a TenantId,
    pub id: TaskId,
    pub attempt: u32,
    pub driver: &'a HubId,
}

/// Entry of the journal: status lines, and the findings between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEntry {
    /// In order.
    pub number: u32,
    pub said: Bytes,
    /// Encrypted.
    pub learned: Bytes,
}

// === impl Store ===

impl Store {
    /// Appends an entry, on disk when this returns; false if another hub runs the task by now.
    pub async fn append_task(&self, seat: &TaskSeat<'_>, entry: &TaskEntry) -> Result<bool, StoreError> {
        let durable = !entry.learned.is_empty();
        let mut connection = self.journal("connect to append to a task", durable).await?;
        let appended = self.append(seat, entry, &mut connection).await?;
        self.relax(durable, connection).await?;
        Ok(appended)
    }

    /// Returns the entries of an attempt.
    pub async fn task_entries(
        &self,
        tenant: &TenantId,
        id: TaskId,
        attempt: u32,
    ) -> Result<Vec<TaskEntry>, StoreError> {
        let text = "SELECT number, said, learned FROM spindrift_task_entry \
                    WHERE tenant = ? AND task = ? AND attempt = ? ORDER BY number";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let mut connection = self.reader("connect to read the journal of a task").await?;
        let rows =
            statement.bind(i64::from(attempt)).fetch_all("read the journal of a task", &mut connection);
        rows.await?
            .iter()
            .map(|row| {
                let value = row.number("number")?;
                let number =
                    u32::try_from(value).map_err(|_| StoreError::Number { column: "number", value })?;
                Ok(TaskEntry { number, said: row.bytes("said")?, learned: row.bytes("learned")? })
            })
            .collect()
    }

    /// Returns the status lines of all attempts.
    pub async fn task_said(&self, tenant: &TenantId, id: TaskId) -> Result<Vec<Bytes>, StoreError> {
        let text =
            "SELECT said FROM spindrift_task_entry WHERE tenant = ? AND task = ? ORDER BY attempt, number";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*id.to_string());
        let mut connection = self.reader("connect to read what a task said").await?;
        let rows = statement.fetch_all("read what a task said", &mut connection).await?;
        rows.iter().map(|row| row.bytes("said")).collect()
    }

    pub(super) async fn append(
        &self,
        seat: &TaskSeat<'_>,
        entry: &TaskEntry,
        connection: &mut AnyConnection,
    ) -> Result<bool, StoreError> {
        let appended = self
            .statement(
                "INSERT INTO spindrift_task_entry (tenant, task, attempt, number, said, learned) \
                 SELECT tenant, id, attempt, ?, ?, ? FROM spindrift_task \
                 WHERE tenant = ? AND id = ? AND attempt = ? AND driver = ? AND ended_at = 0",
            )
            .bind(i64::from(entry.number))
            .bind(&*entry.said)
            .bind(&*entry.learned)
            .bind(seat.tenant.as_str())
            .bind(&*seat.id.to_string())
            .bind(i64::from(seat.attempt))
            .bind(seat.driver.as_str())
            .execute("append to a task", connection)
            .await?;
        Ok(appended > 0)
    }

    /// Erases the findings of a task that has ended.
    pub(super) async fn erase(
        &self,
        tenant: &TenantId,
        id: TaskId,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let text = "UPDATE spindrift_task_entry SET learned = ? WHERE tenant = ? AND task = ?";
        let statement = self.statement(text).bind(&[][..]).bind(tenant.as_str()).bind(&*id.to_string());
        statement.execute("erase what a task learned", connection).await.map(drop)
    }
}
