//! Reading rows.

use std::collections::HashSet;

use futures::TryStreamExt;
use spindrift_spinnaker::{Row, row::RowReader};
use sqlx::AnyConnection;
use tracing::warn;

use crate::store::{StoreError, dialect::RECORDS, row::Columns, statement::Statement};

/// Rows that were read so far.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    reader: RowReader,
}

// === impl Rows ===

impl Rows {
    /// Adds what a statement finds; it selects `account` and `content`, of one row or gathered.
    pub(super) async fn add(
        &mut self,
        step: &'static str,
        statement: Statement,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let mut found = statement.fetch(step, connection);
        let mut unread = 0;
        while let Some(columns) = found.try_next().await? {
            let account = columns.text("account")?;
            let contents = columns.slice("content")?.split(|byte| *byte == RECORDS);
            for content in contents.filter(|content| !content.is_empty()) {
                match self.reader.read(account, content) {
                    Ok(row) => self.rows.push(row),
                    Err(_) => unread += 1,
                }
            }
        }
        if unread > 0 {
            warn!(rows = unread, "rows that a hub of another release has derived are left out");
        }
        Ok(())
    }

    /// Each row once, in the order in which they were found.
    pub(super) fn distinct(self) -> Vec<Row> {
        let mut seen = HashSet::new();
        let mut rows = self.rows;
        rows.retain(|row| seen.insert((row.account.clone(), row.object.clone())));
        rows
    }
}
