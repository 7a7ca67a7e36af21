//! Writing batches: the cursor first, as the fence, and all that follows it in the same transaction.
//!
//! ```text
//! cursors (in name order) ──▶ declared scopes ──▶ prunes ──▶ upserts ──▶ rows ──▶ deletes ──▶ scopes' versions
//! ```
//!
//! Each phase runs over all accounts of the group before the next one begins, so that the rows of many accounts share
//! statements: the cost of a commit is its round trips, not its rows.

mod batching;
mod fence;

mod declare;
mod prune;
mod tombstone;
mod upsert;

mod derive;

mod changed;
mod progress;

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

use super::{DeriveRows, ScopeRow, Store, StoreError, UidSet};
use derive::Derived;
use writer::{CommitWriter, WriteMode};

/// Write of one account's batch, in the order of a commit.
#[derive(Debug, Clone)]
pub struct AccountWrite {
    pub tenant: TenantId,
    pub account: AccountName,
    /// Cursor at which it is written: refused unless it is exactly that of the store.
    pub cursor: Cursor,
    /// Scopes that are watched from here on; the objects of others are deleted.
    pub declared: Option<DeclaredScopes>,
    /// Lists that have ended.
    pub prunes: Vec<Prune>,
    /// Objects as they are now; of two with the same key, the later one counts.
    pub upserts: Vec<ObjectWrite>,
    /// Deleted objects, if the stored ones still have these uids.
    pub deletes: Vec<(ObjectKey, Uid)>,
    pub scopes: Vec<ScopeProgress>,
    /// Rules by which its objects become rows.
    pub rules: Arc<dyn DeriveRows>,
    /// Duration of the lease from now on.
    pub lease: Duration,
}

/// All watched scopes of an account.
#[derive(Debug, Clone)]
pub struct DeclaredScopes {
    pub scopes: Vec<ScopeRow>,
    /// API groups whose discovery failed: their objects stay, since their scopes are unknown.
    pub keep_groups: Vec<Arc<str>>,
    /// Scopes that the agent is not allowed to read, with the reason.
    pub denied: HashMap<Scope, String>,
}

/// A complete list: the objects of the scope that it did not mention are deleted.
#[derive(Debug, Clone)]
pub struct Prune {
    pub scope: Scope,
    pub keep: Arc<UidSet>,
    /// Those of them that the agent has not sent, since their fingerprints matched stored objects.
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

/// Resource version that a scope reaches with this write.
#[derive(Debug, Clone)]
pub struct ScopeProgress {
    pub scope: Scope,
    /// None if a list begins: until it ends, the scope cannot be resumed.
    pub resource_version: Option<ResourceVersion>,
}

/// Outcome of one account's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is stored.
    Committed {
        seq: Seq,
        /// Set if an object has changed; otherwise the feed has nothing new.
        changed: bool,
    },
    /// The cursor of the store differs: nothing was written.
    Stale,
    /// It is stored, but a list expected objects that are not stored: its scope has no version to resume from, and
    /// the attachment is over.
    MissingExpected { seq: Seq },
}

/// A row that the database refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    pub key: ObjectKey,
    /// Message of the database.
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
        let (outcomes, _) = self.commit_with(writes, WriteMode::Batched).await?;
        Ok(outcomes)
    }

    /// Writes one account row by row; rows that the database refuses are left out and named.
    pub async fn commit_isolating(
        &self,
        write: &AccountWrite,
    ) -> Result<(WriteOutcome, Vec<RejectedRow>), StoreError> {
        let (outcomes, rejected) = self.commit_with(std::slice::from_ref(write), WriteMode::Isolated).await?;
        Ok((outcomes.first().copied().unwrap_or(WriteOutcome::Stale), rejected))
    }

    async fn commit_with(
        &self,
        writes: &[AccountWrite],
        mode: WriteMode,
    ) -> Result<(Vec<WriteOutcome>, Vec<RejectedRow>), StoreError> {
        // Before the transaction, which others wait for.
        let derived: Vec<_> = writes.iter().map(Derived::of).collect();
        let mut transaction = self.begin("begin a commit").await?;
        let mut unit = CommitWriter::new(self, &mut transaction, mode);
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
        unit.end_missing_expected().await?;
        let changed = unit.changed(&live).await?;
        let missing_expected: HashSet<_> =
            unit.missing_expected.iter().map(|(account, _)| *account).collect();
        let rejected = unit.into_rejected();
        self.commit_transaction(transaction, "commit").await?;

        let outcome = |fenced: &Option<Fenced<'_>>| {
            let Some(Fenced { write, seq }) = fenced else { return WriteOutcome::Stale };
            let account = (&write.tenant, &write.account);
            if missing_expected.contains(&account) {
                return WriteOutcome::MissingExpected { seq: *seq };
            }
            WriteOutcome::Committed { seq: *seq, changed: changed.contains(&account) }
        };
        Ok((fenced.iter().map(outcome).collect(), rejected))
    }
}

// === impl AccountWrite ===

impl AccountWrite {
    /// A write that only advances the cursor.
    pub fn new(
        tenant: TenantId,
        account: AccountName,
        cursor: Cursor,
        lease: Duration,
        rules: Arc<dyn DeriveRows>,
    ) -> Self {
        Self {
            tenant,
            account,
            cursor,
            declared: None,
            prunes: Vec::new(),
            upserts: Vec::new(),
            deletes: Vec::new(),
            scopes: Vec::new(),
            rules,
            lease,
        }
    }
}
