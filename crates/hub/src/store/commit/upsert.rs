//! Upserts: objects are written only if they differ from the stored ones.

use indexmap::IndexMap;
use spindrift_model::ObjectKey;

use super::batching::next_batch;
use super::writer::{CommitWriter, WriteMode};
use super::{Fenced, ObjectWrite};
use crate::store::StoreError;
use crate::store::dialect::{Differs, OnConflict};
use crate::store::statement::Statement;

/// Longer rows are refused here: MariaDB answers a statement above its `max_allowed_packet` (16 MiB) by hanging up,
/// which looks like a lost connection and would be retried for ever. Kubernetes' own objects end near 3 MB.
const LONGEST_ROW: usize = 8 << 20;

/// Approximate size of a row without its body and labels.
const ROW_OVERHEAD: usize = 512;

const COLUMNS: &str = "(tenant, account, api_group, kind, namespace, name, scope_namespace, uid, resource_version, \
    api_version, scrub_revision, labels, body, seq, deleted_at, updated_at)";

const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, {now})";

/// Versions are opaque and can only be compared for equality. An unchanged row keeps its place in the feed.
const CHANGED: OnConflict = OnConflict {
    table: "spindrift_object",
    key: &["tenant", "account", "api_group", "kind", "namespace", "name"],
    replaced: &[
        "seq",
        "scope_namespace",
        "uid",
        "resource_version",
        "api_version",
        "scrub_revision",
        "labels",
        "body",
        "deleted_at",
        "updated_at",
    ],
    only_if: Some(Differs {
        columns: &[
            "uid",
            "resource_version",
            "api_version",
            "scrub_revision",
            "scope_namespace",
            "deleted_at",
        ],
        marker: "seq",
    }),
};

#[derive(Clone, Copy)]
struct Row<'a> {
    fenced: Fenced<'a>,
    object: &'a ObjectWrite,
}

// === impl CommitWriter ===

impl CommitWriter<'_, '_> {
    /// Writes the objects of all accounts.
    pub(super) async fn upsert(&mut self, live: &[Fenced<'_>]) -> Result<(), StoreError> {
        let rows = self.fitting(live.iter().copied().flat_map(distinct))?;
        let conflict = self.store.dialect.on_conflict(&CHANGED);
        let mut rest = &*rows;
        while let Some(first) = rest.first() {
            let (rows, others) = next_batch(rest, self.mode, Row::bytes);
            rest = others;
            let values = vec![ROW; rows.len()].join(", ");
            let text = format!("INSERT INTO spindrift_object {COLUMNS} VALUES {values}{conflict}");
            let statement = rows.iter().fold(self.store.statement(text), Row::bind);
            self.execute("upsert objects", statement, &first.object.key).await?;
        }
        Ok(())
    }

    fn fitting<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) -> Result<Vec<Row<'a>>, StoreError> {
        let mut fitting = Vec::new();
        for row in rows {
            let bytes = row.bytes();
            if bytes <= LONGEST_ROW {
                fitting.push(row);
                continue;
            }
            let error = StoreError::TooLarge { what: row.object.key.to_string(), bytes };
            if self.mode == WriteMode::Batched {
                return Err(error);
            }
            self.reject(&row.object.key, &error);
        }
        Ok(fitting)
    }
}

// === impl Row ===

impl Row<'_> {
    fn bytes(&self) -> usize {
        self.object.body.len() + self.object.labels.len() + ROW_OVERHEAD
    }

    fn bind(statement: Statement, row: &Self) -> Statement {
        let Row { fenced, object } = row;
        let ObjectWrite {
            key,
            scope_namespace,
            uid,
            resource_version,
            api_version,
            scrub_revision,
            labels,
            body,
        } = object;
        statement
            .bind(fenced.write.tenant.as_str())
            .bind(fenced.write.account.as_str())
            .bind(&*key.group)
            .bind(&*key.kind)
            .bind(&*key.namespace)
            .bind(&*key.name)
            .bind(scope_namespace.as_deref().unwrap_or_default())
            .bind(uid.as_str())
            .bind(resource_version.as_str())
            .bind(api_version.as_str())
            .bind(i64::from(scrub_revision.0))
            .bind(&**labels)
            .bind(&**body)
            .bind(fenced.seq.0)
    }
}

/// One row per key, the last: PostgreSQL refuses a statement that writes a row twice.
fn distinct(fenced: Fenced<'_>) -> impl Iterator<Item = Row<'_>> {
    let last: IndexMap<&ObjectKey, &ObjectWrite> =
        fenced.write.upserts.iter().map(|object| (&object.key, object)).collect();
    last.into_values().map(move |object| Row { fenced, object })
}
