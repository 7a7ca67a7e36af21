//! Deletion leaves a tombstone: the same object without its content, at its new place in the feed. Its row goes.

use spindrift_model::{ObjectKey, Uid};

use super::derive::Whose;
use super::portion::portion;
use super::writer::Writer;
use super::{AccountWrite, Fenced};
use crate::store::StoreError;

/// An object that is gone, if it is still the one of this uid.
pub(super) type Grave = (ObjectKey, Uid);

// === impl Writer ===

impl<'w> Writer<'_, 'w> {
    /// Buries what the watch has seen go.
    pub(super) async fn delete(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        self.bury(fenced, &fenced.write.deletes).await
    }

    pub(super) async fn bury(&mut self, fenced: Fenced<'w>, graves: &[Grave]) -> Result<(), StoreError> {
        let mut graves: Vec<&Grave> = graves.iter().collect();
        graves.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for neighbours in graves.chunk_by(|(one, _), (other, _)| place(one) == place(other)) {
            let mut rest = neighbours;
            while !rest.is_empty() {
                let (graves, others) = portion(rest, self.care, |grave| bytes(grave));
                rest = others;
                self.bury_portion(fenced, graves).await?;
            }
        }
        Ok(())
    }

    /// The graves are of one kind and namespace. Their names are listed by themselves: that is the form in which all
    /// three databases look up each row in the index; pairs alone make SQLite and PostgreSQL read the whole kind.
    async fn bury_portion(&mut self, fenced: Fenced<'w>, graves: &[&Grave]) -> Result<(), StoreError> {
        let Some((first, _)) = graves.first() else { return Ok(()) };
        let AccountWrite { tenant, account, .. } = fenced.write;
        let names = vec!["?"; graves.len()].join(", ");
        let these = vec!["(name = ? AND uid = ?)"; graves.len()].join(" OR ");
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
        for (key, _) in graves {
            statement = statement.bind(&*key.name);
        }
        for (key, uid) in graves {
            statement = statement.bind(&*key.name).bind(uid.as_str());
        }
        if self.execute("bury objects", statement, first).await? > 0 {
            self.buried.insert(fenced.account());
            let keys = graves.iter().map(|(key, _)| key).collect();
            self.remove_rows(fenced, keys, Whose::TheDeads).await?;
        }
        Ok(())
    }
}

fn place(key: &ObjectKey) -> (&str, &str, &str) {
    (&key.group, &key.kind, &key.namespace)
}

fn bytes((key, uid): &Grave) -> usize {
    key.namespace.len() + key.name.len() + uid.as_str().len()
}
