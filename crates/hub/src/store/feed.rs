//! The change feed of an account: its rows in the order they changed in, tombstones among them.

use std::time::Duration;

use futures::TryStreamExt;
use spindrift_model::{AccountName, ObjectKey, ResourceVersion, Seq, TenantId, Uid};
use sqlx::any::AnyRow;

use super::object::{COLUMNS, position, read_key};
use super::statement::Statement;
use super::{Store, StoreError, StoredObject, UnreadableObject, row::Columns};

/// Where an account's feed ends, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The last batch that was committed.
    pub seq: Seq,
    /// Position below which a reader has missed tombstones and starts again.
    pub floor: Seq,
}

/// Position of a reader; the default is before all changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedPoint {
    pub seq: Seq,
    /// The last object read of that batch; none if all were.
    pub key: Option<ObjectKey>,
}

/// Change of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is now as it is here.
    Upserted(StoredObject),
    /// It is gone.
    Deleted {
        seq: Seq,
        key: ObjectKey,
        uid: Uid,
        /// Its last version that was stored.
        resource_version: ResourceVersion,
    },
}

/// Part of an account's feed that a reader has not read.
#[derive(Debug, Clone, Copy)]
pub struct AccountFeed<'a> {
    pub tenant: &'a TenantId,
    pub account: &'a AccountName,
    /// Position of the reader.
    pub after: &'a FeedPoint,
}

/// Changes at the beginning of that part.
#[derive(Debug, Clone, Default)]
pub struct ChangeChunk {
    pub changes: Vec<Change>,
    /// Changed objects whose rows cannot be read.
    pub unreadable: Vec<UnreadableObject>,
    /// Position after the last change.
    pub last: Option<FeedPoint>,
    /// Set if there may be changes after it.
    pub more: bool,
}

// === impl Store ===

impl Store {
    /// Where the feeds stand, by account.
    pub async fn positions(
        &self,
        tenant: &TenantId,
        accounts: Option<&[AccountName]>,
    ) -> Result<Vec<(AccountName, Position)>, StoreError> {
        let mut connection = self.reader("connect to read positions").await?;
        let text = "SELECT account, seq, feed_floor FROM spindrift_cursor WHERE tenant = ?";
        let mut statement = self.statement(text).bind(tenant.as_str());
        if let Some(accounts) = accounts {
            if accounts.is_empty() {
                return Ok(Vec::new());
            }
            statement =
                statement.push(&format!(" AND account IN ({})", vec!["?"; accounts.len()].join(", ")));
            for account in accounts {
                statement = statement.bind(account.as_str());
            }
        }
        let rows = statement.push(" ORDER BY account").fetch_all("read positions", &mut connection).await?;
        rows.iter()
            .map(|row| {
                let position = Position { seq: Seq(row.count("seq")?), floor: Seq(row.count("feed_floor")?) };
                Ok((row.name("account")?, position))
            })
            .collect()
    }

    /// Returns the changes after a position, oldest first; an object that changed twice occurs once, as last changed.
    pub async fn changes(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        after: &FeedPoint,
        limit: u32,
    ) -> Result<Vec<Change>, StoreError> {
        let mut connection = self.reader("connect to read changes").await?;
        let (feed, text) = (AccountFeed { tenant, account, after }, format!("SELECT {COLUMNS}"));
        let select = self.select_changes(&feed, &text, u64::from(limit));
        let rows = select.fetch_all("read changes", &mut connection).await?;
        rows.iter().map(Change::read).collect()
    }

    /// Reads the first of these changes, as long as the objects fit into this many bytes; at least one.
    pub async fn changes_within(
        &self,
        feed: &AccountFeed<'_>,
        limit: u32,
        bytes: usize,
    ) -> Result<ChangeChunk, StoreError> {
        let mut connection = self.reader("connect to read changes").await?;
        let limit = u64::from(limit);
        let select = |text: &str| self.select_changes(feed, text, limit);
        let fitting = self.fitting(bytes, &mut connection, select).await?;
        let mut chunk = ChangeChunk::default();
        if fitting.rows == 0 {
            return Ok(chunk);
        }
        chunk.more = fitting.rows < fitting.of || fitting.of as u64 == limit;
        let select = self.select_changes(feed, &format!("SELECT {COLUMNS}"), fitting.rows as u64);
        let mut rows = select.fetch("read changes", &mut connection);
        while let Some(row) = rows.try_next().await? {
            let (seq, key) = (Seq(row.count("seq")?), read_key(&row)?);
            match Change::read(&row) {
                Ok(change) => chunk.changes.push(change),
                Err(error) => chunk.unreadable.push(UnreadableObject::new(feed.account, &key, &error)),
            }
            chunk.last = Some(FeedPoint { seq, key: Some(key) });
        }
        Ok(chunk)
    }

    /// Completes a statement that begins with this text, up to `FROM`.
    fn select_changes(&self, feed: &AccountFeed<'_>, text: &str, limit: u64) -> Statement {
        let AccountFeed { tenant, account, after } = feed;
        let statement = self
            .statement(format!("{text} FROM spindrift_object WHERE tenant = ? AND account = ?"))
            .bind(tenant.as_str())
            .bind(account.as_str());
        let seq = ("seq", after.seq.0.into());
        let statement = match &after.key {
            None => statement.and_after(&[seq]),
            Some(key) => {
                let [group, kind, namespace, name] = position(key);
                statement.and_after(&[seq, group, kind, namespace, name])
            }
        };
        statement.push(" ORDER BY seq, api_group, kind, namespace, name LIMIT ?").bind(limit)
    }

    /// Removes tombstones of this age, and raises the floor of their accounts' feeds.
    pub async fn purge_tombstones(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut reader = self.reader("connect to find tombstones").await?;
        let text = "SELECT tenant, account, MAX(seq) AS newest FROM spindrift_object \
                    WHERE deleted_at > 0 AND deleted_at <= {now} - ? GROUP BY tenant, account \
                    ORDER BY tenant, account";
        let rows = self.statement(text).bind(older_than).fetch_all("find tombstones", &mut reader).await?;
        drop(reader);

        let mut purged = 0;
        for row in rows {
            purged +=
                self.purge(&row.name("tenant")?, &row.name("account")?, Seq(row.count("newest")?)).await?;
        }
        Ok(purged)
    }

    /// Removes the tombstones up to a batch: a reader that would still need them is below the floor.
    async fn purge(&self, tenant: &TenantId, account: &AccountName, newest: Seq) -> Result<u64, StoreError> {
        let mut transaction = self.begin("begin to purge tombstones").await?;
        self.statement(
            "UPDATE spindrift_cursor SET feed_floor = ? WHERE tenant = ? AND account = ? AND feed_floor < ?",
        )
        .bind(newest.0)
        .bind(tenant.as_str())
        .bind(account.as_str())
        .bind(newest.0)
        .execute("raise the feed's floor", &mut transaction)
        .await?;
        let purged = self
            .statement(
                "DELETE FROM spindrift_object WHERE tenant = ? AND account = ? AND seq <= ? AND deleted_at > 0",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(newest.0)
            .execute("purge tombstones", &mut transaction)
            .await?;
        self.commit_transaction(transaction, "commit a purge of tombstones").await?;
        Ok(purged)
    }
}

// === impl Change ===

impl Change {
    fn read(row: &AnyRow) -> Result<Self, StoreError> {
        if row.number("deleted_at")? == 0 {
            return StoredObject::read(row).map(Self::Upserted);
        }
        Ok(Self::Deleted {
            seq: Seq(row.count("seq")?),
            key: read_key(row)?,
            uid: row.text("uid")?.into(),
            resource_version: row.text("resource_version")?.into(),
        })
    }

    /// The object.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Upserted(object) => &object.key,
            Self::Deleted { key, .. } => key,
        }
    }

    /// Where a reader is who has read this far.
    pub fn point(&self) -> FeedPoint {
        let seq = match self {
            Self::Upserted(object) => object.seq,
            Self::Deleted { seq, .. } => *seq,
        };
        FeedPoint { seq, key: Some(self.key().clone()) }
    }
}
