//! Which accounts have something new in their feeds.

use std::collections::HashSet;

use spindrift_model::{AccountName, TenantId};

use super::Fenced;
use super::portion::portion;
use super::writer::{Care, Writer};
use crate::store::{StoreError, row::Columns};

/// What a condition takes, roughly.
const CONDITION_BYTES: usize = 128;

// === impl Writer ===

impl<'w> Writer<'_, 'w> {
    /// Asks the feed itself: the counts that databases give for upserts do not tell a row that stays from a new one.
    pub(super) async fn changed(
        &mut self,
        live: &[Fenced<'w>],
    ) -> Result<HashSet<(&'w TenantId, &'w AccountName)>, StoreError> {
        let mut changed = std::mem::take(&mut self.buried);
        let unknown: Vec<_> = live
            .iter()
            .filter(|fenced| !fenced.write.upserts.is_empty() && !changed.contains(&fenced.account()))
            .collect();
        let mut rest = &*unknown;
        while !rest.is_empty() {
            let (accounts, others) = portion(rest, Care::Together, |_| CONDITION_BYTES);
            rest = others;
            let conditions = vec!["(tenant = ? AND account = ? AND seq = ?)"; accounts.len()].join(" OR ");
            let mut statement = self.store.statement(format!(
                "SELECT DISTINCT tenant, account FROM spindrift_object WHERE {conditions}"
            ));
            for fenced in accounts {
                let (tenant, account) = fenced.account();
                statement = statement.bind(tenant.as_str()).bind(account.as_str()).bind(fenced.seq.0);
            }
            for row in statement.fetch_all("read what has changed", self.connection).await? {
                let named = (row.text("tenant")?, row.text("account")?);
                let accounts = accounts.iter().map(|fenced| fenced.account());
                changed.extend(
                    accounts.filter(|(tenant, account)| (tenant.as_str(), account.as_str()) == named),
                );
            }
        }
        Ok(changed)
    }
}
