//! Tombstones: a deleted object stays without its content, at its new place in the feed. Its row is deleted.

use spindrift_model::{ObjectKey, Uid};

use super::batching::next_batch;
use super::derive::RowsOf;
use super::writer::CommitWriter;
use super::{AccountWrite, Fenced};
use crate::store::StoreError;

/// A deleted object, if the stored one still has this uid.
pub(super) type DeletedObject = (ObjectKey, Uid);

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    /// Deletes the objects that the watch reported as deleted.
    pub(super) async fn delete(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        self.set_tombstones(fenced, &fenced.write.deletes).await
    }

    pub(super) async fn set_tombstones(
        &mut self,
        fenced: Fenced<'w>,
        deleted: &[DeletedObject],
    ) -> Result<(), StoreError> {
        let mut deleted: Vec<&DeletedObject> = deleted.iter().collect();
        deleted.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for neighbours in deleted.chunk_by(|(one, _), (other, _)| place(one) == place(other)) {
            let mut rest = neighbours;
            while !rest.is_empty() {
                let (deleted, others) = next_batch(rest, self.mode, |object| bytes(object));
                rest = others;
                self.set_tombstone_batch(fenced, deleted).await?;
            }
        }
        Ok(())
    }

    /// The objects are of one kind and namespace. Their names are listed by themselves: that is the form in which all
    /// three databases look up each row in the index; pairs alone make SQLite and PostgreSQL read the whole kind.
    async fn set_tombstone_batch(
        &mut self,
        fenced: Fenced<'w>,
        deleted: &[&DeletedObject],
    ) -> Result<(), StoreError> {
        let Some((first, _)) = deleted.first() else { return Ok(()) };
        let AccountWrite { tenant, account, .. } = fenced.write;
        let names = vec!["?"; deleted.len()].join(", ");
        let these = vec!["(name = ? AND uid = ?)"; deleted.len()].join(" OR ");
        let mut statement = self
            .store
            .statement(format!(
                "UPDATE spindrift_object SET deleted_at = {{now}}, updated_at = {{now}}, seq = ?, labels = '', \
                 body = ? WHERE tenant = ? AND account = ? AND api_group = ? AND kind = ? AND deleted_at = 0 \
                 AND namespace = ? AND name IN ({names}) AND ({these})"
            ))
            .bind(fenced.seq.0)
            .bind(&[][..])
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(&*first.group)
            .bind(&*first.kind)
            .bind(&*first.namespace);
        for (key, _) in deleted {
            statement = statement.bind(&*key.name);
        }
        for (key, uid) in deleted {
            statement = statement.bind(&*key.name).bind(uid.as_str());
        }
        if self.execute("set_tombstones objects", statement, first).await? > 0 {
            self.with_tombstones.insert(fenced.account());
            let keys = deleted.iter().map(|(key, _)| key).collect();
            self.remove_rows(fenced, keys, RowsOf::Deleted).await?;
        }
        Ok(())
    }
}

fn place(key: &ObjectKey) -> (&str, &str, &str) {
    (&key.group, &key.kind, &key.namespace)
}

fn bytes((key, uid): &DeletedObject) -> usize {
    key.namespace.len() + key.name.len() + uid.as_str().len()
}
