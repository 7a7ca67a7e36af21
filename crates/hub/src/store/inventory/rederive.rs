//! Derives all rows of an account again: its rules have changed, this release derives differently, or a hub of a release
//! without rows has written.
//!
//! The cursor stores up to which batch rows follow the objects (`rows_seq`), and the revision of their rules
//! (`rows_rules`). A commit advances `rows_seq` with `seq`, and clears the revision if its rules differ. A pass reads the
//! objects in pages, each in a transaction that locks the cursor, so that no commit comes between an object and its row.
//! If the cursor shows at the end that something else was written meanwhile, the pass is discarded.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use indexmap::IndexMap;
use spindrift_model::{AccountName, HubId, ObjectKey, Seq, TenantId};
use sqlx::AnyConnection;
use uuid::Uuid;

use super::{COLUMNS, DeriveRows, DerivedRow, REPLACED, VALUES, kind_column};
use crate::store::object::{position, read_key};
use crate::store::row::Columns;
use crate::store::{Store, StoreError};

/// State of the rows of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowState {
    pub account: AccountName,
    /// Revision of the rules they were derived by; none before the first time, and if revisions are mixed.
    pub revision: Option<String>,
    /// Set if the rows follow the objects up to the last batch.
    pub current: bool,
    /// Time since the last page of a running pass; none if no pass runs.
    pub deriving: Option<Duration>,
    /// Hub that writes the account, if any.
    pub hub: Option<HubId>,
}

/// Outcome of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rederived {
    /// The rows match the objects, of which there are this many.
    Done { objects: u64 },
    /// Something else was written meanwhile, or another hub began a pass: it has to be repeated.
    Overtaken,
}

/// Objects in one transaction: commits of the account wait for it, some ten milliseconds.
const PAGE: usize = 64;

struct RederivePass<'a> {
    tenant: &'a TenantId,
    account: &'a AccountName,
    rules: &'a dyn DeriveRows,
    id: String,
}

/// A page of objects.
#[derive(Default)]
struct RederivePage {
    objects: usize,
    rows: IndexMap<(String, Arc<str>, Arc<str>), DerivedRow>,
    without: Vec<ObjectKey>,
    /// Key after which the next page begins.
    last: Option<ObjectKey>,
}

// === impl Store ===

impl Store {
    /// Returns the state of the rows of all accounts.
    pub async fn row_states(&self, tenant: &TenantId) -> Result<Vec<RowState>, StoreError> {
        let text = "SELECT account, rows_rules, seq - rows_seq AS behind, rows_pass, {now} - rows_pass_at AS pass_age, \
                    holder_hub, lease_until - {now} AS lease_left FROM spindrift_cursor WHERE tenant = ?";
        let mut connection = self.reader("connect to read the state of rows").await?;
        let statement = self.statement(text).bind(tenant.as_str());
        let rows = statement.fetch_all("read the state of rows", &mut connection).await?;
        rows.iter()
            .map(|row| {
                let deriving =
                    row.optional_text("rows_pass")?.map(|_| row.duration("pass_age")).transpose()?;
                let hub = row.optional_name("holder_hub")?;
                Ok(RowState {
                    account: row.name("account")?,
                    revision: row.optional_text("rows_rules")?,
                    current: row.number("behind")? == 0,
                    deriving,
                    hub: if row.number("lease_left")? > 0 { hub } else { None },
                })
            })
            .collect()
    }

    /// Derives the rows of an account again, in pages.
    pub async fn rederive(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        rules: &dyn DeriveRows,
    ) -> Result<Rederived, StoreError> {
        let pass = RederivePass { tenant, account, rules, id: Uuid::new_v4().to_string() };
        let Some(since) = self.begin_rederive(&pass).await? else {
            return Ok(Rederived::Done { objects: 0 });
        };
        let (mut after, mut objects) = (None, 0);
        loop {
            let mut transaction = self.begin("begin to derive rows").await?;
            let Some(seq) = self.hold_cursor(&pass, &mut transaction).await? else {
                return Ok(Rederived::Overtaken);
            };
            let page = self.derive_page(&pass, after.as_ref(), &mut transaction).await?;
            self.store_page(&pass, seq, &page, &mut transaction).await?;
            self.commit_transaction(transaction, "commit derived rows").await?;
            objects += page.objects as u64;
            if page.last.is_none() {
                break;
            }
            after = page.last;
        }
        let done = self.end_rederive(&pass, since).await?;
        Ok(if done { Rederived::Done { objects } } else { Rederived::Overtaken })
    }

    /// Marks the cursor: from here on only hubs of this release may write, or the pass is discarded. Returns none without
    /// a cursor.
    async fn begin_rederive(&self, pass: &RederivePass<'_>) -> Result<Option<Seq>, StoreError> {
        let mut transaction = self.begin("begin a pass over rows").await?;
        self.statement(
            "UPDATE spindrift_cursor SET rows_seq = seq, rows_rules = ?, rows_pass = ?, rows_pass_at = {now} \
             WHERE tenant = ? AND account = ?",
        )
        .bind(pass.rules.revision())
        .bind(&*pass.id)
        .bind(pass.tenant.as_str())
        .bind(pass.account.as_str())
        .execute("begin a pass over rows", &mut transaction)
        .await?;
        let seq = self.hold_cursor(pass, &mut transaction).await?;
        self.commit_transaction(transaction, "commit the begin of a pass over rows").await?;
        Ok(seq)
    }

    /// Locks the cursor until the transaction ends; returns none if the pass is over.
    async fn hold_cursor(
        &self,
        pass: &RederivePass<'_>,
        connection: &mut AnyConnection,
    ) -> Result<Option<Seq>, StoreError> {
        let text = "UPDATE spindrift_cursor SET rows_pass_at = {now} WHERE tenant = ? AND account = ? AND rows_pass = ?";
        let statement = self.statement(text).bind(pass.tenant.as_str()).bind(pass.account.as_str());
        if statement.bind(&*pass.id).execute("hold a pass over rows", connection).await? == 0 {
            return Ok(None);
        }
        let text = "SELECT seq FROM spindrift_cursor WHERE tenant = ? AND account = ?";
        let statement = self.statement(text).bind(pass.tenant.as_str()).bind(pass.account.as_str());
        let row = statement.fetch_optional("read a cursor", connection).await?;
        row.map(|row| Ok(Seq(row.count("seq")?))).transpose()
    }

    async fn derive_page(
        &self,
        pass: &RederivePass<'_>,
        after: Option<&ObjectKey>,
        connection: &mut AnyConnection,
    ) -> Result<RederivePage, StoreError> {
        let mut statement = self
            .statement(
                "SELECT api_group, kind, namespace, name, body FROM spindrift_object \
                 WHERE tenant = ? AND account = ? AND deleted_at = 0",
            )
            .bind(pass.tenant.as_str())
            .bind(pass.account.as_str());
        if let Some(after) = after {
            statement = statement.and_after(&position(after));
        }
        let statement =
            statement.push(" ORDER BY api_group, kind, namespace, name LIMIT ?").bind(PAGE as u64);
        let account: Arc<str> = pass.account.as_str().into();
        let mut page = RederivePage::default();
        let mut rows = statement.fetch("read objects to derive rows of", connection);
        let mut last = None;
        while let Some(row) = rows.try_next().await? {
            let key = read_key(&row)?;
            match pass.rules.derive(&account, &key, row.slice("body")?) {
                // Two API groups may serve the same object, and PostgreSQL refuses to write a row twice at once.
                Some(row) => drop(page.rows.insert(row.unique_key(), row)),
                None => page.without.push(key.clone()),
            }
            page.objects += 1;
            last = Some(key);
        }
        page.last = last.filter(|_| page.objects == PAGE);
        Ok(page)
    }

    async fn store_page(
        &self,
        pass: &RederivePass<'_>,
        seq: Seq,
        page: &RederivePage,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        if !page.rows.is_empty() {
            let values = vec![VALUES; page.rows.len()].join(", ");
            let conflict = self.dialect.on_conflict(&REPLACED);
            let text = format!("INSERT INTO spindrift_row {COLUMNS} VALUES {values}{conflict}");
            let statement = page.rows.values().fold(self.statement(text), |statement, row| {
                row.bind(statement, (pass.tenant, pass.account), seq)
            });
            statement.unprepared().execute("store derived rows", connection).await?;
        }
        for key in &page.without {
            self.statement(
                "DELETE FROM spindrift_row WHERE tenant = ? AND kind = ? AND account = ? AND namespace = ? \
                 AND name = ? AND api_group = ?",
            )
            .bind(pass.tenant.as_str())
            .bind(&*kind_column(&key.group, &key.kind))
            .bind(pass.account.as_str())
            .bind(&*key.namespace)
            .bind(&*key.name)
            .bind(&*key.group)
            .execute("remove rows", connection)
            .await?;
        }
        Ok(())
    }

    /// Removes the rows of deleted objects: those that were not written since the pass began.
    async fn end_rederive(&self, pass: &RederivePass<'_>, since: Seq) -> Result<bool, StoreError> {
        let mut transaction = self.begin("begin to end a pass over rows").await?;
        let ended = self
            .statement(
                "UPDATE spindrift_cursor SET rows_pass = '' WHERE tenant = ? AND account = ? AND rows_pass = ? \
                 AND rows_rules = ? AND rows_seq = seq",
            )
            .bind(pass.tenant.as_str())
            .bind(pass.account.as_str())
            .bind(&*pass.id)
            .bind(pass.rules.revision())
            .execute("end a pass over rows", &mut transaction)
            .await?;
        if ended == 0 {
            return Ok(false);
        }
        self.statement("DELETE FROM spindrift_row WHERE tenant = ? AND account = ? AND derived < ?")
            .bind(pass.tenant.as_str())
            .bind(pass.account.as_str())
            .bind(since.0)
            .execute("remove the rows of objects that are gone", &mut transaction)
            .await?;
        self.commit_transaction(transaction, "commit a pass over rows").await?;
        Ok(true)
    }
}

// === impl RowState ===

impl RowState {
    /// Whether the rows match the objects, by these rules.
    pub fn is_current(&self, rules: &dyn DeriveRows) -> bool {
        self.current && self.deriving.is_none() && self.revision.as_deref() == Some(rules.revision())
    }
}
