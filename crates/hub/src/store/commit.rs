//! Writing batches: the cursor first, as the fence, and all that follows it in the same transaction.
//!
//! ```text
//! cursors (in name order) ──▶ declared scopes ──▶ prunes ──▶ upserts ──▶ rows ──▶ deletes ──▶ scopes' versions
//! ```
//!
//! Each phase runs over all accounts of the group before the next one begins, so that the rows of many accounts share
//! statements: round trips, not rows, are what a commit costs.

mod bury;
mod changed;
mod declare;
mod derive;
mod fence;
mod portion;
mod progress;
mod prune;
mod upsert;
mod writer;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use spindrift_model::{
    AccountName, ApiVersion, Cursor, ObjectKey, ResourceVersion, Scope, ScrubRevision, Seq, TenantId, Uid,
};

use super::{Derivation, ScopeRow, Store, StoreError, UidSet};
use derive::Derived;
use writer::{Care, Writer};

/// What one account's batch comes to, after its steps have been brought into the order of a commit.
#[derive(Debug, Clone)]
pub struct AccountWrite {
    pub tenant: TenantId,
    pub account: AccountName,
    /// Where it is to be written: refused unless the store stands exactly there.
    pub cursor: Cursor,
    /// The scopes that are watched from here on; what is stored of others goes.
    pub declared: Option<DeclaredScopes>,
    /// Listings that have ended.
    pub prunes: Vec<Prune>,
    /// Objects as they are now; of two with the same key, the later one counts.
    pub upserts: Vec<ObjectWrite>,
    /// Objects that are gone, if they are still those of these uids.
    pub deletes: Vec<(ObjectKey, Uid)>,
    pub scopes: Vec<ScopeProgress>,
    /// How its objects become rows.
    pub derivation: Arc<Derivation>,
    /// How long the account stays the writer's from now on.
    pub lease: Duration,
}

/// All that is watched of an account.
#[derive(Debug, Clone)]
pub struct DeclaredScopes {
    pub scopes: Vec<ScopeRow>,
    /// API groups whose discovery failed: what is stored of them stays, since nothing is known about it.
    pub keep_groups: Vec<Arc<str>>,
    /// Those of the scopes that the agent is not allowed to read, and why.
    pub denied: HashMap<Scope, String>,
}

/// A complete listing: what of the scope it did not mention is gone.
#[derive(Debug, Clone)]
pub struct Prune {
    pub scope: Scope,
    pub keep: Arc<UidSet>,
    /// Those of them that the agent has not sent, since it was told that they are stored.
    pub expected: Arc<UidSet>,
}

/// An object to be stored.
#[derive(Debug, Clone)]
pub struct ObjectWrite {
    pub key: ObjectKey,
    /// The namespace of the scope it was read in; none for all.
    pub scope_namespace: Option<Arc<str>>,
    pub uid: Uid,
    pub resource_version: ResourceVersion,
    pub api_version: ApiVersion,
    pub scrub_revision: ScrubRevision,
    /// `metadata.labels` as a JSON object.
    pub labels: String,
    pub body: Bytes,
}

/// How far the store gets with a scope by this write.
#[derive(Debug, Clone)]
pub struct ScopeProgress {
    pub scope: Scope,
    /// None: a listing begins, and until it ends the scope cannot be resumed.
    pub resource_version: Option<ResourceVersion>,
}

/// What became of one account's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is stored.
    Committed {
        seq: Seq,
        /// Whether any object is not as it was; if not, the feed has nothing new.
        changed: bool,
    },
    /// The store stands elsewhere: nothing of it was written.
    Stale,
    /// It is stored, but a listing counted on objects that are not there: its scope has no version to resume from, and
    /// the attachment is over.
    Unfounded { seq: Seq },
}

/// A row that the database refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    pub key: ObjectKey,
    /// The database's own words.
    pub reason: String,
}

/// A write whose cursor has been advanced.
#[derive(Clone, Copy)]
struct Fenced<'a> {
    write: &'a AccountWrite,
    seq: Seq,
}

// === impl Store ===

impl Store {
    /// Writes a group in one transaction, at most one write per account. A stale write is left out; any other failure
    /// fails the whole group.
    pub async fn commit(&self, writes: &[AccountWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        let (outcomes, _) = self.commit_with(writes, Care::Together).await?;
        Ok(outcomes)
    }

    /// Writes one account row by row; rows that the database refuses are left out and named.
    pub async fn commit_isolating(
        &self,
        write: &AccountWrite,
    ) -> Result<(WriteOutcome, Vec<RejectedRow>), StoreError> {
        let (outcomes, rejected) = self.commit_with(std::slice::from_ref(write), Care::RowByRow).await?;
        Ok((outcomes.first().copied().unwrap_or(WriteOutcome::Stale), rejected))
    }

    async fn commit_with(
        &self,
        writes: &[AccountWrite],
        care: Care,
    ) -> Result<(Vec<WriteOutcome>, Vec<RejectedRow>), StoreError> {
        // Before the transaction, which others wait for.
        let derived: Vec<_> = writes.iter().map(Derived::of).collect();
        let mut transaction = self.begin("begin a commit").await?;
        let mut unit = Writer::new(self, &mut transaction, care);
        let fenced = unit.fence(writes).await?;
        let live: Vec<Fenced<'_>> = fenced.iter().copied().flatten().collect();
        for write in &live {
            unit.declare(*write).await?;
            unit.prune(*write).await?;
        }
        unit.upsert(&live).await?;
        let derived = fenced.iter().zip(&derived).filter_map(|(fenced, derived)| Some(((*fenced)?, derived)));
        unit.store_rows(&derived.collect::<Vec<_>>()).await?;
        for write in &live {
            unit.delete(*write).await?;
        }
        unit.progress(&live).await?;
        unit.end_unfounded().await?;
        let changed = unit.changed(&live).await?;
        let unfounded: HashSet<_> = unit.unfounded.iter().map(|(account, _)| *account).collect();
        let rejected = unit.into_rejected();
        transaction.commit().await.map_err(StoreError::at("commit"))?;

        let outcome = |fenced: &Option<Fenced<'_>>| {
            let Some(Fenced { write, seq }) = fenced else { return WriteOutcome::Stale };
            let account = (&write.tenant, &write.account);
            if unfounded.contains(&account) {
                return WriteOutcome::Unfounded { seq: *seq };
            }
            WriteOutcome::Committed { seq: *seq, changed: changed.contains(&account) }
        };
        Ok((fenced.iter().map(outcome).collect(), rejected))
    }
}

// === impl AccountWrite ===

impl AccountWrite {
    /// A write that only advances the cursor.
    pub fn new(tenant: TenantId, account: AccountName, cursor: Cursor, lease: Duration) -> Self {
        Self {
            tenant,
            account,
            cursor,
            declared: None,
            prunes: Vec::new(),
            upserts: Vec::new(),
            deletes: Vec::new(),
            scopes: Vec::new(),
            derivation: Arc::default(),
            lease,
        }
    }
}
