//! Changes on the way from an agent to the store: batches of items, each written whole or not at all.

use std::{fmt, sync::Arc};

use bytes::Bytes;

use crate::{AccountName, Cursor, Generation, Resource, ResourceVersion, Scope, ScrubRevision, Uid};

/// The short name that the items of one attachment use for a scope, given in its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

/// One scope that the agent watches in this attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeDeclaration {
    /// Its short name in the items that follow.
    pub id: ScopeId,
    /// Watched scope.
    pub resource: Resource,
    /// The one namespace that is watched, or none for all.
    pub namespace: Option<Arc<str>>,
    /// The rules that its objects are scrubbed by.
    pub scrub_revision: ScrubRevision,
}

/// All scopes that the agent watches for the account; stored scopes that are not declared are deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declaration {
    /// The scopes, complete.
    pub scopes: Vec<ScopeDeclaration>,
    /// API groups whose discovery failed: their stored objects stay.
    pub undiscovered_groups: Vec<Arc<str>>,
    /// Scopes that the agent is not allowed to read: their stored objects stay, and are stale.
    pub denied: Vec<DeniedScope>,
}

/// A declared scope that the agent is not allowed to list and watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedScope {
    /// The scope.
    pub id: ScopeId,
    /// The API server's words, for people to read.
    pub reason: String,
}

/// An object as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upsert {
    /// The scope it was read in.
    pub scope: ScopeId,
    /// Its namespace; empty for kinds without namespaces.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Uid, which distinguishes it from a later object of the same name.
    pub uid: Uid,
    /// Its version.
    pub resource_version: ResourceVersion,
    /// The scrubbed JSON, otherwise as the API server sent it.
    pub body: Bytes,
}

/// One step of an account's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The scopes that are watched from here on.
    Declare(Declaration),
    /// A complete listing of a scope begins; until its end the scope cannot be resumed.
    Begin {
        /// The scope.
        scope: ScopeId,
        /// The number of the listing, unique in the attachment.
        generation: Generation,
    },
    /// An object as it is now.
    Upsert(Upsert),
    /// Objects of a list that are exactly as the hub has them, by their fingerprints.
    Mention {
        /// The scope they were listed in.
        scope: ScopeId,
        /// The objects.
        uids: Vec<Uid>,
    },
    /// An object is gone.
    Delete {
        /// The scope it was watched in.
        scope: ScopeId,
        /// Its namespace; empty for kinds without namespaces.
        namespace: Arc<str>,
        /// Its name.
        name: Arc<str>,
        /// Only the object of this uid is gone; a younger one of the same name stays.
        uid: Uid,
        /// The version of its deletion.
        resource_version: ResourceVersion,
    },
    /// The list is complete: objects that it does not have are deleted.
    End {
        /// The scope.
        scope: ScopeId,
        /// The number given at the beginning.
        generation: Generation,
        /// The collection's version, from which a watch goes on.
        resource_version: ResourceVersion,
    },
    /// Nothing changed up to this version (a bookmark).
    Progress {
        /// The scope.
        scope: ScopeId,
        /// The collection's version.
        resource_version: ResourceVersion,
    },
}

/// Items of one account that are committed in one transaction, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Account of the stream.
    pub account: AccountName,
    /// Where it is to be written.
    pub cursor: Cursor,
    /// The steps, in order.
    pub items: Vec<Item>,
}

// === impl ScopeId ===

impl fmt::Display for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scope {}", self.0)
    }
}

// === impl ScopeDeclaration ===

impl ScopeDeclaration {
    /// The scope that this declares.
    pub fn scope(&self) -> Scope {
        Scope {
            group: self.resource.group.clone(),
            kind: self.resource.kind.clone(),
            namespace: self.namespace.clone(),
        }
    }
}
