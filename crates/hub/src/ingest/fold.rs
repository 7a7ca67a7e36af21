//! One agent's hold on one account: turns its batches into writes, and remembers what a listing has mentioned.

mod labels;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use spindrift_model::{
    AccountName, ApiVersion, Attachment as Attached, Batch, Cursor, Declaration, DeniedScope, Epoch,
    Generation, Item, ObjectKey, ResourceVersion, Scope, ScopeDeclaration, ScopeId, ScrubRevision, TenantId,
    Uid, Upsert,
};
use spindrift_protocol::Rejected;

use crate::store::{AccountWrite, DeclaredScopes, ObjectWrite, Prune, ScopeProgress, ScopeRow, UidSet};
use labels::labels;

/// An account that is attached to an Events channel.
///
/// Owned by that channel's task; gone with it. If the hub dies in the middle of a listing, what was mentioned is
/// lost, and since `Begin` cleared the resume point, the next attachment lists again.
#[derive(Debug)]
pub struct Attachment {
    tenant: TenantId,
    account: AccountName,
    next: Cursor,
    lease: Duration,
    scopes: HashMap<ScopeId, ScopeDeclaration>,
    listings: HashMap<ScopeId, Listing>,
    /// The scopes whose state the store has: those that it can resume, and those listed since.
    listed: HashMap<Scope, (ApiVersion, ScrubRevision)>,
}

/// A listing that has begun and not ended.
#[derive(Debug)]
struct Listing {
    generation: Generation,
    mentioned: UidSet,
    /// Those of them that the agent has not sent, since it was told that they are stored.
    recalled: UidSet,
}

/// What a batch comes to.
#[derive(Debug)]
pub struct Folded {
    /// What is to be committed.
    pub write: AccountWrite,
    /// Objects that cannot be stored.
    pub rejected: Vec<Rejected>,
    /// Listings that have begun in it.
    pub begun: Vec<Begun>,
}

/// A listing that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// What the attachment calls the scope.
    pub id: ScopeId,
    /// The scope.
    pub scope: Scope,
    /// The listing.
    pub generation: Generation,
}

/// An agent that broke the rules of the protocol; its attachment ends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Not the batch that comes next.
    #[error("batch at epoch {}, seq {} arrived where epoch {}, seq {} was expected", found.epoch, found.seq, expected.epoch, expected.seq)]
    OutOfOrder {
        /// The batch's cursor.
        found: Cursor,
        /// What comes next.
        expected: Cursor,
    },
    /// An item about a scope that was not declared.
    #[error("{0} is not declared")]
    UndeclaredScope(ScopeId),
    /// A change in a scope whose state the store does not have: it would be lost among what is missing.
    #[error("{0} changes without having been listed")]
    NotListed(ScopeId),
    /// The end of a listing that did not begin.
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
    /// Objects that are only mentioned, outside of a listing.
    #[error("{0} mentions objects without a listing")]
    MentionWithoutListing(ScopeId),
}

/// What the items of one batch come to, per name: they are committed together, so only the last word counts.
struct Last {
    scope: ScopeId,
    /// The object that has the name now.
    living: Option<ObjectWrite>,
    /// Those that had it before and are gone; if nothing has it now, any of them may be the stored one.
    gone: Vec<Uid>,
}

#[derive(Default)]
struct Fold {
    declared: Option<DeclaredScopes>,
    prunes: Vec<Prune>,
    objects: IndexMap<ObjectKey, Last>,
    progress: IndexMap<ScopeId, Option<ResourceVersion>>,
    rejected: Vec<Rejected>,
    begun: Vec<Begun>,
}

// === impl Attachment ===

impl Attachment {
    /// The account as the store attached it.
    pub fn new(tenant: TenantId, account: AccountName, attached: &Attached, lease: Duration) -> Self {
        let points = attached.resume_points.iter();
        let listed =
            points.map(|point| (point.scope.clone(), (point.api_version.clone(), point.scrub_revision)));
        Self {
            tenant,
            account,
            next: attached.cursor,
            lease,
            scopes: HashMap::new(),
            listings: HashMap::new(),
            listed: listed.collect(),
        }
    }

    /// The attachment's epoch.
    pub fn epoch(&self) -> Epoch {
        self.next.epoch
    }

    /// Turns the next batch into one write, and names the objects that cannot be stored.
    pub fn fold(&mut self, batch: Batch) -> Result<Folded, Violation> {
        let Batch { account: _, cursor, items } = batch;
        if cursor != self.next {
            return Err(Violation::OutOfOrder { found: cursor, expected: self.next });
        }
        let mut fold = Fold::default();
        for item in items {
            self.apply(&mut fold, item)?;
        }
        self.next.seq = self.next.seq.next();
        let Fold { declared, prunes, objects, progress, rejected, mut begun } = fold;
        begun.retain(|begun| {
            self.listings.get(&begun.id).is_some_and(|open| open.generation == begun.generation)
        });
        let (mut upserts, mut deletes) = (Vec::new(), Vec::new());
        for (key, Last { living, gone, .. }) in objects {
            match living {
                Some(object) => upserts.push(object),
                None => deletes.extend(gone.into_iter().map(|uid| (key.clone(), uid))),
            }
        }
        let scopes = progress
            .into_iter()
            .filter_map(|(id, resource_version)| {
                let scope = self.scopes.get(&id)?.scope();
                Some(ScopeProgress { scope, resource_version })
            })
            .collect();
        let empty = AccountWrite::new(self.tenant.clone(), self.account.clone(), cursor, self.lease);
        let write = AccountWrite { declared, prunes, upserts, deletes, scopes, ..empty };
        Ok(Folded { write, rejected, begun })
    }

    fn apply(&mut self, fold: &mut Fold, item: Item) -> Result<(), Violation> {
        match item {
            Item::Declare(declaration) => self.declare(fold, declaration),
            Item::Begin { scope, generation } => {
                let declared = self.declared(scope)?.scope();
                self.listed.remove(&declared);
                fold.begun.push(Begun { id: scope, scope: declared, generation });
                let (mentioned, recalled) = (UidSet::default(), UidSet::default());
                self.listings.insert(scope, Listing { generation, mentioned, recalled });
                fold.progress.insert(scope, None);
            }
            Item::Upsert(upsert) => self.upsert(fold, upsert)?,
            Item::Mention { scope, uids } => {
                self.declared(scope)?;
                let listing = self.listings.get_mut(&scope).ok_or(Violation::MentionWithoutListing(scope))?;
                for uid in &uids {
                    listing.mentioned.insert(uid);
                    listing.recalled.insert(uid);
                }
            }
            Item::Delete { scope, namespace, name, uid, resource_version } => {
                let key = self.key(scope, namespace, name)?;
                if let Some(listing) = self.listings.get_mut(&scope) {
                    listing.mentioned.remove(&uid);
                    listing.recalled.remove(&uid);
                }
                self.moved(fold, scope, resource_version)?;
                fold.delete(scope, key, uid);
            }
            Item::End { scope, generation, resource_version } => {
                let declaration = self.declared(scope)?.clone();
                let listing = match self.listings.entry(scope) {
                    Entry::Occupied(entry) if entry.get().generation == generation => entry.remove(),
                    _ => return Err(Violation::EndWithoutBegin(scope, generation)),
                };
                fold.forget_unmentioned(scope, &listing.mentioned);
                let state = (declaration.resource.version.clone(), declaration.scrub_revision);
                self.listed.insert(declaration.scope(), state);
                let (keep, expected) = (Arc::new(listing.mentioned), Arc::new(listing.recalled));
                fold.prunes.push(Prune { scope: declaration.scope(), keep, expected });
                fold.progress.insert(scope, Some(resource_version));
            }
            Item::Progress { scope, resource_version } => {
                self.moved(fold, scope, resource_version)?;
            }
        }
        Ok(())
    }

    /// What is no longer declared goes, also from what this batch said before.
    fn declare(&mut self, fold: &mut Fold, declaration: Declaration) {
        let Declaration { scopes, undiscovered_groups, denied } = declaration;
        self.scopes = scopes.into_iter().map(|scope| (scope.id, scope)).collect();
        self.listings.retain(|id, _| self.scopes.contains_key(id));
        // What is read in another version, or scrubbed by other rules, has to be listed again.
        let current: HashMap<_, _> = self
            .scopes
            .values()
            .map(|scope| (scope.scope(), (scope.resource.version.clone(), scope.scrub_revision)))
            .collect();
        let kept = |scope: &Scope| undiscovered_groups.contains(&scope.group);
        self.listed.retain(|scope, state| current.get(scope).map_or_else(|| kept(scope), |now| now == state));
        fold.objects.retain(|_, last| self.scopes.contains_key(&last.scope));
        fold.progress.retain(|scope, _| self.scopes.contains_key(scope));
        let rows = self.scopes.values().map(scope_row).collect();
        let denied = denied
            .into_iter()
            .filter_map(|DeniedScope { id, reason }| Some((self.scopes.get(&id)?.scope(), reason)))
            .collect();
        fold.declared = Some(DeclaredScopes { scopes: rows, keep_groups: undiscovered_groups, denied });
    }

    fn upsert(&mut self, fold: &mut Fold, upsert: Upsert) -> Result<(), Violation> {
        let Upsert { scope, namespace, name, uid, resource_version, body } = upsert;
        let key = self.key(scope, namespace, name)?;
        // Mentioned even if it cannot be stored: it lives, so an older row of it must not be pruned.
        if let Some(listing) = self.listings.get_mut(&scope) {
            listing.mentioned.insert(&uid);
            listing.recalled.remove(&uid);
        }
        self.moved(fold, scope, resource_version.clone())?;
        let labels = match labels(&body) {
            Ok(labels) => labels,
            Err(error) => {
                fold.rejected.push(Rejected {
                    object: key.to_string(),
                    reason: format!("not a JSON object: {error}"),
                });
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
        fold.last(scope, key).living = Some(object);
        Ok(())
    }

    /// A watch event moves the scope's resume point; within a listing only its end does.
    fn moved(
        &self,
        fold: &mut Fold,
        scope: ScopeId,
        resource_version: ResourceVersion,
    ) -> Result<(), Violation> {
        let declared = self.declared(scope)?.scope();
        if self.listings.contains_key(&scope) {
            return Ok(());
        }
        if !self.listed.contains_key(&declared) {
            return Err(Violation::NotListed(scope));
        }
        fold.progress.insert(scope, Some(resource_version));
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

// === impl Fold ===

impl Fold {
    fn last(&mut self, scope: ScopeId, key: ObjectKey) -> &mut Last {
        let last = self.objects.entry(key).or_insert(Last { scope, living: None, gone: Vec::new() });
        last.scope = scope;
        last
    }

    /// A delete takes back what this batch said of the same object, but not of a younger one of the same name.
    fn delete(&mut self, scope: ScopeId, key: ObjectKey, uid: Uid) {
        let last = self.last(scope, key);
        last.living.take_if(|object| object.uid == uid);
        last.gone.push(uid);
    }

    /// A listing that ends says more than what the batch said before it began: what it did not mention is gone.
    fn forget_unmentioned(&mut self, scope: ScopeId, mentioned: &UidSet) {
        for last in self.objects.values_mut().filter(|last| last.scope == scope) {
            if let Some(object) = last.living.take_if(|object| !mentioned.contains(&object.uid)) {
                last.gone.push(object.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests;
