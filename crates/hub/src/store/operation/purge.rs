//! Deletion of old operations and results.

use std::time::Duration;

use super::NO_ANSWER;
use crate::store::{Store, StoreError};

// === impl Store ===

impl Store {
    /// Deletes operations that ended longer ago than this, with their results.
    pub async fn purge_operations(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to purge operations").await?;
        let text = "DELETE FROM spindrift_operation WHERE ended_at > 0 AND ended_at < {now} - ?";
        let purged =
            self.statement(text).bind(older_than).execute("purge operations", &mut connection).await?;
        if purged > 0 {
            let text = "DELETE FROM spindrift_operation_part WHERE NOT EXISTS (SELECT 1 FROM spindrift_operation \
                        WHERE spindrift_operation.tenant = spindrift_operation_part.tenant \
                        AND spindrift_operation.id = spindrift_operation_part.operation)";
            self.statement(text).execute("purge answers of purged operations", &mut connection).await?;
        }
        Ok(purged)
    }

    /// Deletes the results of operations that ended longer ago than this; their rows stay.
    pub async fn purge_answers(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to purge answers").await?;
        self.statement(format!(
            "UPDATE spindrift_operation SET answer_bytes = {NO_ANSWER} \
             WHERE ended_at > 0 AND ended_at < {{now}} - ? AND answer_bytes <> {NO_ANSWER}"
        ))
        .bind(older_than)
        .execute("purge answers", &mut connection)
        .await?;
        // Operations that have not ended are younger than any answer that is purged, or they follow a log.
        let text = "DELETE FROM spindrift_operation_part WHERE stored_at < {now} - ? AND NOT EXISTS \
                    (SELECT 1 FROM spindrift_operation WHERE spindrift_operation.tenant = spindrift_operation_part.tenant \
                    AND spindrift_operation.id = spindrift_operation_part.operation \
                    AND (spindrift_operation.ended_at = 0 OR spindrift_operation.answer_bytes >= 0))";
        self.statement(text).bind(older_than).execute("purge parts of answers", &mut connection).await
    }
}
