//! Folds the items of a batch into one write, and stores the uids that an open list has mentioned.

mod labels;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use spindrift_model::{
    AccountName, ApiVersion, Attachment, Batch, Cursor, Declaration, DeniedScope, Epoch, Generation, Item,
    ObjectKey, ResourceVersion, Scope, ScopeDeclaration, ScopeId, ScrubRevision, TenantId, Uid, Upsert,
};
use spindrift_protocol::Rejected;

use crate::store::{
    AccountWrite, DeclaredScopes, DeriveRows, ObjectWrite, Prune, ScopeProgress, ScopeRow, UidSet,
};
use labels::labels;

/// State of one attachment: the next cursor, the declared scopes and the open lists.
///
/// The task of the Events channel owns it. If the hub exits in the middle of a list, the mentioned uids are lost; since
/// `Begin` cleared the resume point, the next attachment lists again.
#[derive(Debug)]
pub struct AccountFold {
    tenant: TenantId,
    account: AccountName,
    next: Cursor,
    lease: Duration,
    scopes: HashMap<ScopeId, ScopeDeclaration>,
    lists: HashMap<ScopeId, OpenList>,
    /// Scopes whose state is stored: those that can be resumed, and those listed since.
    listed: HashMap<Scope, (ApiVersion, ScrubRevision)>,
}

/// A list that has begun and not ended.
#[derive(Debug)]
struct OpenList {
    generation: Generation,
    mentioned: UidSet,
    /// Those of them that the agent has not sent, since their fingerprints matched stored objects.
    recalled: UidSet,
}

/// Result of folding a batch.
#[derive(Debug)]
pub struct FoldedBatch {
    /// Write to commit.
    pub write: AccountWrite,
    /// Objects that cannot be stored.
    pub rejected: Vec<Rejected>,
    /// Lists that have begun in it.
    pub begun: Vec<ListBegun>,
}

/// A list that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListBegun {
    /// Id of the scope within the attachment.
    pub id: ScopeId,
    /// The scope.
    pub scope: Scope,
    /// Generation of the list.
    pub generation: Generation,
}

/// Violation of the protocol by an agent; its attachment ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The batch is not the next one.
    #[error("batch at epoch {}, seq {} arrived where epoch {}, seq {} was expected", found.epoch, found.seq, expected.epoch, expected.seq)]
    OutOfOrder {
        /// The batch's cursor.
        found: Cursor,
        /// Cursor of the next batch.
        expected: Cursor,
    },
    /// An item about a scope that was not declared.
    #[error("{0} is not declared")]
    UndeclaredScope(ScopeId),
    /// A change in a scope whose state is not stored: without a list before it, the scope would be incomplete.
    #[error("{0} changes without having been listed")]
    NotListed(ScopeId),
    /// The end of a list that did not begin.
    #[error("generation {1} of {0} ends without having begun")]
    EndWithoutBegin(ScopeId, Generation),
    /// More than its credit allows.
    #[error("{unacknowledged} bytes are unacknowledged, of {credit} that are allowed")]
    OverCredit {
        /// Cost of all unacknowledged items, up to the first that does not fit.
        unacknowledged: usize,
        /// Largest credit sent to the agent during the attachment.
        credit: u32,
    },
    /// Larger than its credit, while other large batches use all the memory for such.
    #[error(
        "a batch of {bytes} bytes arrived while other large batches use all the memory for such; try again"
    )]
    Overdrawn {
        /// Cost of the batch.
        bytes: usize,
    },
    /// Objects that are mentioned outside of a list.
    #[error("{0} mentions objects without a list")]
    MentionWithoutList(ScopeId),
}

/// Final state of one object name after a batch: its items are committed together, so only the last one counts.
struct FinalState {
    scope: ScopeId,
    /// Object that has the name now.
    current: Option<ObjectWrite>,
    /// Objects that had the name before and are deleted; if `current` is none, any of them may be the stored one.
    deleted: Vec<Uid>,
}

#[derive(Default)]
struct FoldedItems {
    declared: Option<DeclaredScopes>,
    prunes: Vec<Prune>,
    objects: IndexMap<ObjectKey, FinalState>,
    progress: IndexMap<ScopeId, Option<ResourceVersion>>,
    rejected: Vec<Rejected>,
    begun: Vec<ListBegun>,
}

// === impl AccountFold ===

impl AccountFold {
    /// Starts at the cursor and the resume points of an attachment.
    pub fn new(tenant: TenantId, account: AccountName, attachment: &Attachment, lease: Duration) -> Self {
        let points = attachment.resume_points.iter();
        let listed =
            points.map(|point| (point.scope.clone(), (point.api_version.clone(), point.scrub_revision)));
        Self {
            tenant,
            account,
            next: attachment.cursor,
            lease,
            scopes: HashMap::new(),
            lists: HashMap::new(),
            listed: listed.collect(),
        }
    }

    /// Returns the account.
    pub fn account(&self) -> &AccountName {
        &self.account
    }

    /// Returns the epoch of the attachment.
    pub fn epoch(&self) -> Epoch {
        self.next.epoch
    }

    /// Turns the next batch into one write, and lists the objects that cannot be stored.
    pub fn fold(&mut self, batch: Batch, rules: Arc<dyn DeriveRows>) -> Result<FoldedBatch, Violation> {
        let Batch { account: _, cursor, items } = batch;
        if cursor != self.next {
            return Err(Violation::OutOfOrder { found: cursor, expected: self.next });
        }
        let mut folded = FoldedItems::default();
        for item in items {
            self.apply(&mut folded, item)?;
        }
        self.next.seq = self.next.seq.next();
        let FoldedItems { declared, prunes, objects, progress, rejected, mut begun } = folded;
        begun.retain(|begun| {
            self.lists.get(&begun.id).is_some_and(|open| open.generation == begun.generation)
        });
        let (mut upserts, mut deletes) = (Vec::new(), Vec::new());
        for (key, FinalState { current, deleted, .. }) in objects {
            match current {
                Some(object) => upserts.push(object),
                None => deletes.extend(deleted.into_iter().map(|uid| (key.clone(), uid))),
            }
        }
        let scopes = progress
            .into_iter()
            .filter_map(|(id, resource_version)| {
                let scope = self.scopes.get(&id)?.scope();
                Some(ScopeProgress { scope, resource_version })
            })
            .collect();
        let empty = AccountWrite::new(self.tenant.clone(), self.account.clone(), cursor, self.lease, rules);
        let write = AccountWrite { declared, prunes, upserts, deletes, scopes, ..empty };
        Ok(FoldedBatch { write, rejected, begun })
    }

    fn apply(&mut self, folded: &mut FoldedItems, item: Item) -> Result<(), Violation> {
        match item {
            Item::Declare(declaration) => self.declare(folded, declaration),
            Item::Begin { scope, generation } => {
                let declared = self.declared(scope)?.scope();
                self.listed.remove(&declared);
                folded.begun.push(ListBegun { id: scope, scope: declared, generation });
                let (mentioned, recalled) = (UidSet::default(), UidSet::default());
                self.lists.insert(scope, OpenList { generation, mentioned, recalled });
                folded.progress.insert(scope, None);
            }
            Item::Upsert(upsert) => self.upsert(folded, upsert)?,
            Item::Mention { scope, uids } => {
                self.declared(scope)?;
                let list = self.lists.get_mut(&scope).ok_or(Violation::MentionWithoutList(scope))?;
                for uid in &uids {
                    list.mentioned.insert(uid);
                    list.recalled.insert(uid);
                }
            }
            Item::Delete { scope, namespace, name, uid, resource_version } => {
                let key = self.key(scope, namespace, name)?;
                if let Some(list) = self.lists.get_mut(&scope) {
                    list.mentioned.remove(&uid);
                    list.recalled.remove(&uid);
                }
                self.advance(folded, scope, resource_version)?;
                folded.delete(scope, key, uid);
            }
            Item::End { scope, generation, resource_version } => {
                let declaration = self.declared(scope)?.clone();
                let list = match self.lists.entry(scope) {
                    Entry::Occupied(entry) if entry.get().generation == generation => entry.remove(),
                    _ => return Err(Violation::EndWithoutBegin(scope, generation)),
                };
                folded.delete_unmentioned(scope, &list.mentioned);
                let state = (declaration.resource.version.clone(), declaration.scrub_revision);
                self.listed.insert(declaration.scope(), state);
                let (keep, expected) = (Arc::new(list.mentioned), Arc::new(list.recalled));
                folded.prunes.push(Prune { scope: declaration.scope(), keep, expected });
                folded.progress.insert(scope, Some(resource_version));
            }
            Item::Progress { scope, resource_version } => {
                self.advance(folded, scope, resource_version)?;
            }
        }
        Ok(())
    }

    /// Removes all scopes that are no longer declared, also from the earlier items of this batch.
    fn declare(&mut self, folded: &mut FoldedItems, declaration: Declaration) {
        let Declaration { scopes, undiscovered_groups, denied } = declaration;
        self.scopes = scopes.into_iter().map(|scope| (scope.id, scope)).collect();
        self.lists.retain(|id, _| self.scopes.contains_key(id));
        // A scope that is read in another API version, or scrubbed by other rules, has to be listed again.
        let current: HashMap<_, _> = self
            .scopes
            .values()
            .map(|scope| (scope.scope(), (scope.resource.version.clone(), scope.scrub_revision)))
            .collect();
        let kept = |scope: &Scope| undiscovered_groups.contains(&scope.group);
        self.listed.retain(|scope, state| current.get(scope).map_or_else(|| kept(scope), |now| now == state));
        folded.objects.retain(|_, state| self.scopes.contains_key(&state.scope));
        folded.progress.retain(|scope, _| self.scopes.contains_key(scope));
        let rows = self.scopes.values().map(scope_row).collect();
        let denied = denied
            .into_iter()
            .filter_map(|DeniedScope { id, reason }| Some((self.scopes.get(&id)?.scope(), reason)))
            .collect();
        folded.declared = Some(DeclaredScopes { scopes: rows, keep_groups: undiscovered_groups, denied });
    }

    fn upsert(&mut self, folded: &mut FoldedItems, upsert: Upsert) -> Result<(), Violation> {
        let Upsert { scope, namespace, name, uid, resource_version, body } = upsert;
        let key = self.key(scope, namespace, name)?;
        // Mentioned even if it cannot be stored: it exists, so an older row of it must not be pruned.
        if let Some(list) = self.lists.get_mut(&scope) {
            list.mentioned.insert(&uid);
            list.recalled.remove(&uid);
        }
        self.advance(folded, scope, resource_version.clone())?;
        let labels = match labels(&body) {
            Ok(labels) => labels,
            Err(error) => {
                folded.rejected.push(Rejected { object: key.to_string(), reason: error.to_string() });
                return Ok(());
            }
        };
        let ScopeDeclaration { resource, namespace: scope_namespace, scrub_revision, .. } =
            self.declared(scope)?;
        let object = ObjectWrite {
            key: key.clone(),
            scope_namespace: scope_namespace.clone(),
            uid,
            resource_version,
            api_version: resource.version.clone(),
            scrub_revision: *scrub_revision,
            labels,
            body,
        };
        folded.state(scope, key).current = Some(object);
        Ok(())
    }

    /// Moves the resume point of a scope to a watch event; within a list only its end does.
    fn advance(
        &self,
        folded: &mut FoldedItems,
        scope: ScopeId,
        resource_version: ResourceVersion,
    ) -> Result<(), Violation> {
        let declared = self.declared(scope)?.scope();
        if self.lists.contains_key(&scope) {
            return Ok(());
        }
        if !self.listed.contains_key(&declared) {
            return Err(Violation::NotListed(scope));
        }
        folded.progress.insert(scope, Some(resource_version));
        Ok(())
    }

    fn declared(&self, scope: ScopeId) -> Result<&ScopeDeclaration, Violation> {
        self.scopes.get(&scope).ok_or(Violation::UndeclaredScope(scope))
    }

    fn key(&self, scope: ScopeId, namespace: Arc<str>, name: Arc<str>) -> Result<ObjectKey, Violation> {
        let resource = &self.declared(scope)?.resource;
        Ok(ObjectKey { group: resource.group.clone(), kind: resource.kind.clone(), namespace, name })
    }
}

fn scope_row(declaration: &ScopeDeclaration) -> ScopeRow {
    let scope = declaration.scope();
    let ScopeDeclaration { id: _, resource, namespace: _, scrub_revision } = declaration;
    ScopeRow {
        scope,
        plural: resource.plural.clone(),
        namespaced: resource.namespaced,
        api_version: resource.version.clone(),
        scrub_revision: *scrub_revision,
    }
}

// === impl FoldedItems ===

impl FoldedItems {
    fn state(&mut self, scope: ScopeId, key: ObjectKey) -> &mut FinalState {
        let new = FinalState { scope, current: None, deleted: Vec::new() };
        let state = self.objects.entry(key).or_insert(new);
        state.scope = scope;
        state
    }

    /// Deletes an object; an earlier upsert of a newer object of the same name stays.
    fn delete(&mut self, scope: ScopeId, key: ObjectKey, uid: Uid) {
        let state = self.state(scope, key);
        state.current.take_if(|object| object.uid == uid);
        state.deleted.push(uid);
    }

    /// Deletes the objects of a scope that a complete list did not mention, even if this batch contains them.
    fn delete_unmentioned(&mut self, scope: ScopeId, mentioned: &UidSet) {
        for state in self.objects.values_mut().filter(|state| state.scope == scope) {
            if let Some(object) = state.current.take_if(|object| !mentioned.contains(&object.uid)) {
                state.deleted.push(object.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::NoRows;
