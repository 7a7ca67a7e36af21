//! Stored answers, in the pieces in which they came.

use bytes::Bytes;
use spindrift_model::{OperationId, TenantId};

use crate::store::{Store, StoreError, row::Columns};

/// A piece of an answer, encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPart {
    /// Number of bytes of the result before this part.
    pub offset: u64,
    pub sealed: Bytes,
}

// === impl Store ===

impl Store {
    /// Keeps the next piece.
    pub async fn append_part(
        &self,
        tenant: &TenantId,
        operation: OperationId,
        part: &AnswerPart,
    ) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to store an answer").await?;
        let text = "INSERT INTO spindrift_operation_part (tenant, operation, part_offset, stored_at, bytes) \
                    VALUES (?, ?, ?, {now}, ?)";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*operation.to_string());
        let statement = statement.bind(part.offset).bind(&*part.sealed);
        statement.execute("store an answer", &mut connection).await.map(drop)
    }

    /// Deletes the parts of a result, since it is not needed or starts again.
    pub async fn forget_parts(&self, tenant: &TenantId, operation: OperationId) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to forget an answer").await?;
        let text = "DELETE FROM spindrift_operation_part WHERE tenant = ? AND operation = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*operation.to_string());
        statement.execute("forget an answer", &mut connection).await.map(drop)
    }

    /// The pieces from an offset on, a few at a time.
    pub async fn parts(
        &self,
        tenant: &TenantId,
        operation: OperationId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<AnswerPart>, StoreError> {
        let mut connection = self.reader("connect to read an answer").await?;
        let text = "SELECT part_offset, bytes FROM spindrift_operation_part \
                    WHERE tenant = ? AND operation = ? AND part_offset >= ? ORDER BY part_offset LIMIT ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(&*operation.to_string());
        let statement = statement.bind(from).bind(i64::from(limit));
        let rows = statement.fetch_all("read an answer", &mut connection).await?;
        rows.iter()
            .map(|row| Ok(AnswerPart { offset: row.count("part_offset")?, sealed: row.bytes("bytes")? }))
            .collect()
    }
}
