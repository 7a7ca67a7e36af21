//! Deriving all rows of an account anew: its rules have changed, this release derives otherwise, or a hub that knows
//! nothing of rows has written.
//!
//! The cursor says up to which batch rows follow the objects, and by which rules. A commit moves that along with `seq`,
//! and crosses out the rules if it has others. A pass goes through the objects in pages, each in a transaction that holds
//! the cursor, so that no commit comes between an object and its row; whatever happened elsewhere meanwhile is seen in
//! the cursor at the end, and the pass then counts for nothing.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use indexmap::IndexMap;
use spindrift_model::{AccountName, HubId, ObjectKey, Seq, TenantId};
use sqlx::AnyConnection;
use uuid::Uuid;

use super::{COLUMNS, Derivation, Entry, REPLACED, VALUES, kind_column};
use crate::store::object::{position, read_key};
use crate::store::row::Columns;
use crate::store::{Store, StoreError};

/// How the rows of an account are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowState {
    pub account: AccountName,
    /// What they were derived by; none before the first time, and where it was by various rules.
    pub revision: Option<String>,
    /// Whether they follow the objects.
    pub current: bool,
    /// How long ago somebody who derives them anew was last heard of.
    pub deriving: Option<Duration>,
    /// The hub that writes the account, if any does.
    pub hub: Option<HubId>,
}

/// What became of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedAnew {
    /// The rows are those of the objects, as many as these.
    Done { objects: u64 },
    /// Something else was written meanwhile, or another hub began a pass: it has to be done again.
    Overtaken,
}

/// Objects in one transaction: commits of the account wait for it, some ten milliseconds.
const PAGE: usize = 64;

struct Pass<'a> {
    tenant: &'a TenantId,
    account: &'a AccountName,
    derivation: &'a Derivation,
    id: String,
}

/// A part of the objects.
#[derive(Default)]
struct Page {
    objects: usize,
    entries: IndexMap<(String, Arc<str>, Arc<str>), Entry>,
    without: Vec<ObjectKey>,
    /// Where the next one begins.
    last: Option<ObjectKey>,
}

// === impl Store ===

impl Store {
    /// How the rows of all accounts are.
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

    /// Derives the rows of an account anew, in pages.
    pub async fn derive_anew(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        derivation: &Derivation,
    ) -> Result<DerivedAnew, StoreError> {
        let pass = Pass { tenant, account, derivation, id: Uuid::new_v4().to_string() };
        let Some(since) = self.begin_pass(&pass).await? else { return Ok(DerivedAnew::Done { objects: 0 }) };
        let (mut after, mut objects) = (None, 0);
        loop {
            let mut transaction = self.begin("begin to derive rows").await?;
            let Some(seq) = self.hold_pass(&pass, &mut transaction).await? else {
                return Ok(DerivedAnew::Overtaken);
            };
            let page = self.derive_page(&pass, after.as_ref(), &mut transaction).await?;
            self.store_page(&pass, seq, &page, &mut transaction).await?;
            transaction.commit().await.map_err(StoreError::at("commit derived rows"))?;
            objects += page.objects as u64;
            if page.last.is_none() {
                break;
            }
            after = page.last;
        }
        let done = self.end_pass(&pass, since).await?;
        Ok(if done { DerivedAnew::Done { objects } } else { DerivedAnew::Overtaken })
    }

    /// From here on, nobody but this release's hubs must write, or the pass is for nothing. None without a cursor.
    async fn begin_pass(&self, pass: &Pass<'_>) -> Result<Option<Seq>, StoreError> {
        let mut transaction = self.begin("begin a pass over rows").await?;
        self.statement(
            "UPDATE spindrift_cursor SET rows_seq = seq, rows_rules = ?, rows_pass = ?, rows_pass_at = {now} \
             WHERE tenant = ? AND account = ?",
        )
        .bind(pass.derivation.revision())
        .bind(&*pass.id)
        .bind(pass.tenant.as_str())
        .bind(pass.account.as_str())
        .execute("begin a pass over rows", &mut transaction)
        .await?;
        let seq = self.hold_pass(pass, &mut transaction).await?;
        transaction.commit().await.map_err(StoreError::at("commit the begin of a pass over rows"))?;
        Ok(seq)
    }

    /// Holds the cursor until the transaction ends; none if the pass is over.
    async fn hold_pass(
        &self,
        pass: &Pass<'_>,
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
        pass: &Pass<'_>,
        after: Option<&ObjectKey>,
        connection: &mut AnyConnection,
    ) -> Result<Page, StoreError> {
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
        let mut page = Page::default();
        let mut rows = statement.fetch("read objects to derive rows of", connection);
        let mut last = None;
        while let Some(row) = rows.try_next().await? {
            let key = read_key(&row)?;
            match Entry::derive(&account, &key, row.slice("body")?, pass.derivation.rules()) {
                // Two API groups may serve the same object, and PostgreSQL refuses to write a row twice at once.
                Some(entry) => drop(page.entries.insert(entry.place(), entry)),
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
        pass: &Pass<'_>,
        seq: Seq,
        page: &Page,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        if !page.entries.is_empty() {
            let values = vec![VALUES; page.entries.len()].join(", ");
            let conflict = self.dialect.on_conflict(&REPLACED);
            let text = format!("INSERT INTO spindrift_row {COLUMNS} VALUES {values}{conflict}");
            let statement = page.entries.values().fold(self.statement(text), |statement, entry| {
                entry.bind(statement, (pass.tenant, pass.account), seq)
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

    /// Removes the rows of objects that are gone: those that nobody has written since the pass began.
    async fn end_pass(&self, pass: &Pass<'_>, since: Seq) -> Result<bool, StoreError> {
        let mut transaction = self.begin("begin to end a pass over rows").await?;
        let ended = self
            .statement(
                "UPDATE spindrift_cursor SET rows_pass = '' WHERE tenant = ? AND account = ? AND rows_pass = ? \
                 AND rows_rules = ? AND rows_seq = seq",
            )
            .bind(pass.tenant.as_str())
            .bind(pass.account.as_str())
            .bind(&*pass.id)
            .bind(pass.derivation.revision())
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
        transaction.commit().await.map_err(StoreError::at("commit a pass over rows"))?;
        Ok(true)
    }
}

// === impl RowState ===

impl RowState {
    /// Whether the rows are those of the objects, by these rules.
    pub fn is_of(&self, derivation: &Derivation) -> bool {
        self.current && self.deriving.is_none() && self.revision.as_deref() == Some(derivation.revision())
    }
}
