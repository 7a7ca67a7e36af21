//! Reading rows.

use std::collections::HashSet;

use futures::TryStreamExt;
use spindrift_spinnaker::{
    Row,
    row::{RECORDS, RowReader},
};
use sqlx::AnyConnection;
use tracing::warn;

use crate::store::{StoreError, row::Columns, statement::Statement};

/// Rows that were read so far.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    reader: RowReader,
}

// === impl Rows ===

impl Rows {
    /// Adds the rows of a statement; it selects `account` and `content`, of one row or gathered.
    pub(super) async fn add(
        &mut self,
        step: &'static str,
        statement: Statement,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let mut unread = 0;
        let read = |account: &str, contents: &[u8]| {
            for content in contents.split(|byte| *byte == RECORDS).filter(|content| !content.is_empty()) {
                match self.reader.read(account, content) {
                    Ok(row) => self.rows.push(row),
                    Err(_) => unread += 1,
                }
            }
        };
        read_contents(step, statement, connection, read).await?;
        warn_of_unread(unread);
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

/// Passes on each result of a statement: the account, and the contents of one row or of several.
pub(super) async fn read_contents(
    step: &'static str,
    statement: Statement,
    connection: &mut AnyConnection,
    mut take: impl FnMut(&str, &[u8]),
) -> Result<(), StoreError> {
    let mut found = statement.fetch(step, connection);
    while let Some(columns) = found.try_next().await? {
        take(columns.text("account")?, columns.slice("content")?);
    }
    Ok(())
}

pub(super) fn warn_of_unread(rows: usize) {
    if rows > 0 {
        warn!(rows, "rows that a hub of another release has derived are left out");
    }
}
