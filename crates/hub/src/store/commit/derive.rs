//! Rows of the written objects: derived from their bodies, and deleted with them.

use std::sync::Arc;

use indexmap::IndexMap;
use spindrift_model::ObjectKey;

use super::batching::next_batch;
use super::writer::CommitWriter;
use super::{AccountWrite, Fenced};
use crate::store::StoreError;
use crate::store::dialect::{Differs, OnConflict};
use crate::store::inventory::{COLUMNS, DerivedRow, REPLACED, VALUES, kind_column};

/// Rows derived from the objects of one account.
pub(super) struct Derived<'w> {
    entries: Vec<DerivedRow>,
    /// Objects that are to have no row.
    without: Vec<&'w ObjectKey>,
}

/// A row that stays as it is costs no write.
const CHANGED: OnConflict = OnConflict {
    only_if: Some(Differs {
        columns: &["api_group", "spinnaker_kind", "application", "cluster", "owner", "content"],
        marker: "derived",
    }),
    ..REPLACED
};

// === impl Derived ===

impl<'w> Derived<'w> {
    pub(super) fn of(write: &'w AccountWrite) -> Self {
        let AccountWrite { account, upserts, rules, .. } = write;
        let account: Arc<str> = account.as_str().into();
        // Only the last one of each row: PostgreSQL refuses a statement that writes a row twice. Two API groups may serve
        // the same object.
        let mut last = IndexMap::new();
        for object in upserts.iter().filter(|object| rules.applies_to(&object.key)) {
            let ObjectKey { group, kind, namespace, name } = &object.key;
            last.insert((kind_column(group, kind), namespace, name), object);
        }
        let mut derived = Self { entries: Vec::new(), without: Vec::new() };
        for object in last.into_values() {
            match rules.derive(&account, &object.key, &object.body) {
                Some(entry) => derived.entries.push(entry),
                None => derived.without.push(&object.key),
            }
        }
        derived
    }
}

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    /// Writes the rows of all accounts, but those of objects that the database refused.
    pub(super) async fn store_rows(
        &mut self,
        derived: &[(Fenced<'w>, &Derived<'_>)],
    ) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        for (fenced, Derived { entries: these, without }) in derived {
            let without = without.iter().copied().filter(|key| !self.is_rejected(key)).collect();
            self.remove_rows(*fenced, without, RowsOf::Any).await?;
            entries.extend(these.iter().map(|entry| (*fenced, entry)));
        }
        entries.retain(|(_, entry)| !self.is_rejected(&entry.key));
        let conflict = self.store.dialect.on_conflict(&CHANGED);
        let mut rest = &*entries;
        while let Some((_, first)) = rest.first() {
            let (entries, others) = next_batch(rest, self.mode, |(_, entry)| entry.bytes());
            rest = others;
            let values = vec![VALUES; entries.len()].join(", ");
            let text = format!("INSERT INTO spindrift_row {COLUMNS} VALUES {values}{conflict}");
            let statement = entries.iter().fold(self.store.statement(text), |statement, (fenced, entry)| {
                entry.bind(statement, fenced.account(), fenced.seq)
            });
            self.execute("store rows", statement, &first.key).await?;
        }
        Ok(())
    }

    /// Removes the rows of objects that are deleted, or that have none by the rules.
    pub(super) async fn remove_rows(
        &mut self,
        fenced: Fenced<'w>,
        mut keys: Vec<&ObjectKey>,
        of: RowsOf,
    ) -> Result<(), StoreError> {
        keys.sort_unstable();
        for neighbours in keys.chunk_by(|one, other| place(one) == place(other)) {
            let mut rest = neighbours;
            while let Some(first) = rest.first() {
                let (keys, others) = next_batch(rest, self.mode, |key| key.name.len());
                rest = others;
                self.remove_row_batch(fenced, first, keys, of).await?;
            }
        }
        Ok(())
    }

    async fn remove_row_batch(
        &mut self,
        fenced: Fenced<'w>,
        first: &ObjectKey,
        keys: &[&ObjectKey],
        of: RowsOf,
    ) -> Result<(), StoreError> {
        let (tenant, account) = fenced.account();
        let names = vec!["?"; keys.len()].join(", ");
        let mut statement = self
            .store
            .statement(format!(
                "DELETE FROM spindrift_row WHERE tenant = ? AND kind = ? AND account = ? AND namespace = ? \
                 AND name IN ({names}) AND api_group = ?"
            ))
            .bind(tenant.as_str())
            .bind(&*kind_column(&first.group, &first.kind))
            .bind(account.as_str())
            .bind(&*first.namespace);
        for key in keys {
            statement = statement.bind(&*key.name);
        }
        statement = statement.bind(&*first.group);
        if of == RowsOf::Deleted {
            statement = statement
                .push(
                    " AND NOT EXISTS (SELECT 1 FROM spindrift_object o WHERE o.tenant = ? AND o.account = ? \
                     AND o.api_group = ? AND o.kind = ? AND o.namespace = ? AND o.name = spindrift_row.name \
                     AND o.deleted_at = 0)",
                )
                .bind(tenant.as_str())
                .bind(account.as_str())
                .bind(&*first.group)
                .bind(&*first.kind)
                .bind(&*first.namespace);
        }
        self.execute("remove rows", statement, first).await.map(drop)
    }
}

/// Selection of the rows to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsOf {
    /// Only rows of deleted objects.
    Deleted,
    /// Rows of all named objects.
    Any,
}

fn place(key: &ObjectKey) -> (&str, &str, &str) {
    (&key.group, &key.kind, &key.namespace)
}
