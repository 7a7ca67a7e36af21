//! The hubs that share the store.

use std::time::Duration;

use jiff::Timestamp;
use spindrift_model::HubId;

use super::dialect::OnConflict;
use super::{Store, StoreError, row::Columns};

/// A hub that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRow {
    pub id: HubId,
    /// Where its peers reach it.
    pub base_url: String,
    pub started_at: Timestamp,
    pub last_seen: Timestamp,
}

const HEARTBEAT: OnConflict =
    OnConflict { table: "spindrift_hub", key: &["id"], replaced: &["base_url", "last_seen"], only_if: None };

// === impl Store ===

impl Store {
    /// Records that the hub is alive. In a transaction, as batches are: so it also shows that the store accepts them.
    pub async fn heartbeat(&self, id: &HubId, base_url: &str) -> Result<(), StoreError> {
        let mut transaction = self.begin("begin a heartbeat").await?;
        let text =
            "INSERT INTO spindrift_hub (id, base_url, started_at, last_seen) VALUES (?, ?, {now}, {now})";
        let statement = self.statement(text).push(&self.dialect.on_conflict(&HEARTBEAT));
        statement.bind(id.as_str()).bind(base_url).execute("write a heartbeat", &mut transaction).await?;
        self.commit_transaction(transaction, "commit a heartbeat").await
    }

    /// The hubs that were alive of late, by id.
    pub async fn hubs(&self, within: Duration) -> Result<Vec<HubRow>, StoreError> {
        let mut connection = self.reader("connect to read hubs").await?;
        let text = "SELECT id, base_url, started_at, last_seen FROM spindrift_hub WHERE last_seen >= {now} - ? \
                    ORDER BY id";
        let rows = self.statement(text).bind(within).fetch_all("read hubs", &mut connection).await?;
        rows.iter()
            .map(|row| {
                Ok(HubRow {
                    id: row.name("id")?,
                    base_url: row.text("base_url")?.to_owned(),
                    started_at: row.timestamp("started_at")?,
                    last_seen: row.timestamp("last_seen")?,
                })
            })
            .collect()
    }

    /// Deletes hubs that were last alive longer ago than this: each pod has a new name.
    pub async fn purge_hubs(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to purge hubs").await?;
        let statement =
            self.statement("DELETE FROM spindrift_hub WHERE last_seen < {now} - ?").bind(older_than);
        statement.execute("purge hubs", &mut connection).await
    }
}
