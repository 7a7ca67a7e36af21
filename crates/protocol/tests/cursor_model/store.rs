//! The store, and the two transactions that touch an account: `attach` and `commit`.

use crate::api::{Key, Object, Objects, PerKey, PerScope, Rv, Scope};
use crate::mutation::Mutation;

/// The part of the shared database that belongs to one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) cursor: Cursor,
    /// Position to watch each scope from; `None` if it must be listed.
    pub(crate) resume: PerScope<Option<Rv>>,
    pub(crate) rows: Objects,
}

/// Next writer and its next batch: the only fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cursor {
    pub(crate) epoch: u8,
    pub(crate) seq: u8,
}

/// Answer of `attach`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Answer {
    pub(crate) cursor: Cursor,
    pub(crate) resume: PerScope<Option<Rv>>,
    /// As fingerprints.
    pub(crate) rows: Objects,
}

/// State of one attachment in a hub; it ends with the hub or the attachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    generations: PerScope<Option<Generation>>,
}

/// A relist that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Generation {
    number: u8,
    mentioned: PerKey<bool>,
    /// Of those, the objects that were not sent, since by their fingerprints there are rows of them.
    recalled: PerKey<Option<Rv>>,
}

/// Message of an agent to the hub that has its attachment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Batch {
    pub(crate) channel: u8,
    pub(crate) cursor: Cursor,
    pub(crate) item: Item,
    /// For the invariants only: state of the API server that this item is of.
    pub(crate) as_of: Rv,
    /// For the invariants only: this is a copy of a batch that was written.
    pub(crate) written: bool,
}

/// One step of the state flow. A batch of the model holds a single item: whatever can come between two batches
/// can come between any two items.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Item {
    /// These scopes exist; rows and resume points of all others go.
    Declare { scopes: PerScope<bool> },
    /// A relist starts: until it ends, the scope has no resume point.
    Begin { scope: Scope, generation: u8 },
    /// The object is this. A generation has then mentioned it; a watch has then moved to its version.
    Upsert { key: Key, object: Object },
    /// The relist shows the object as its row is, by the fingerprints that the agent received.
    Mention { key: Key, uid: Rv },
    /// The object with this uid is gone. A generation takes its mention back; a watch has then moved to `rv`.
    Delete { key: Key, uid: Rv, rv: Rv },
    /// The relist is complete: other objects are deleted, and `rv` is the position to watch from.
    End { scope: Scope, generation: u8, rv: Rv },
    /// A bookmark: nothing happened in the scope up to `rv`.
    Progress { scope: Scope, rv: Rv },
}

/// The attachment is over. Mostly the batch is not the next one of the newest attachment, and nothing of it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

// === impl Store ===

impl Store {
    /// Makes every older attachment stale and returns the positions to go on from, in one transaction.
    pub(crate) fn attach(&mut self, mutation: Mutation) -> Answer {
        if mutation != Mutation::AttachKeepsEpoch {
            self.cursor.epoch += 1;
        }
        Answer { cursor: self.cursor, resume: self.resume, rows: self.rows }
    }

    /// Moves the cursor and applies the item, in one transaction, or does nothing at all.
    pub(crate) fn commit(
        &mut self,
        batch: &Batch,
        memory: &mut Memory,
        mutation: Mutation,
    ) -> Result<(), Refused> {
        let Cursor { epoch, seq } = batch.cursor;
        // UPDATE cursor SET seq = seq + 1 WHERE epoch = ? AND seq = ?
        let epoch_fits = epoch == self.cursor.epoch || mutation == Mutation::CommitIgnoresEpoch;
        let seq_fits = seq == self.cursor.seq || mutation == Mutation::CommitIgnoresSeq;
        if !epoch_fits || !seq_fits || !memory.expects(&batch.item) {
            return Err(Refused);
        }
        self.cursor.seq += 1;
        self.apply(&batch.item, memory, mutation);
        // An end that counted on rows which are not there has made its own attachment stale.
        if self.cursor.epoch > epoch && mutation != Mutation::CommitIgnoresEpoch {
            return Err(Refused);
        }
        Ok(())
    }

    fn apply(&mut self, item: &Item, memory: &mut Memory, mutation: Mutation) {
        match *item {
            Item::Declare { scopes } => self.declare(scopes, mutation),
            Item::Begin { scope, generation } => {
                if mutation != Mutation::BeginKeepsResumePoint {
                    self.resume[scope] = None;
                }
                memory.begin(scope, generation, mutation);
            }
            Item::Upsert { key, object } => {
                self.rows[key] = Some(object);
                match memory.generation(key.scope()) {
                    Some(generation) => {
                        generation.mentioned[key] = true;
                        generation.recalled[key] = None;
                    }
                    None => self.resume[key.scope()] = Some(object.rv),
                }
            }
            Item::Mention { key, uid } => {
                if let Some(generation) = memory.generation(key.scope()) {
                    generation.mentioned[key] = true;
                    generation.recalled[key] = Some(uid);
                }
            }
            Item::Delete { key, uid, rv } => {
                let same = self.rows[key].is_some_and(|row| row.uid == uid);
                if same || mutation == Mutation::DeleteIgnoresUid {
                    self.rows[key] = None;
                }
                match memory.generation(key.scope()) {
                    Some(generation) => {
                        generation.mentioned[key] = false;
                        generation.recalled[key] = None;
                    }
                    None => self.resume[key.scope()] = Some(rv),
                }
            }
            Item::End { scope, rv, .. } => {
                let (mentioned, recalled) = memory.end(scope);
                let founded = self.has(scope, recalled) || mutation == Mutation::MentionsTakenOnTrust;
                if mutation != Mutation::EndWithoutPrune {
                    self.prune(scope, mentioned);
                }
                if founded {
                    self.resume[scope] = Some(rv);
                } else {
                    // An agent that relied on rows that do not exist has to attach again, and to list.
                    self.cursor.epoch += 1;
                }
            }
            Item::Progress { scope, rv } => self.resume[scope] = Some(rv),
        }
    }

    fn declare(&mut self, scopes: PerScope<bool>, mutation: Mutation) {
        for scope in Scope::ALL.into_iter().filter(|&scope| !scopes[scope]) {
            if mutation != Mutation::DeclareKeepsRows {
                self.prune(scope, PerKey::default());
            }
            if mutation != Mutation::DeclareKeepsResumePoint {
                self.resume[scope] = None;
            }
        }
    }

    /// Whether there is a row of each of these objects.
    fn has(&self, scope: Scope, uids: PerKey<Option<Rv>>) -> bool {
        let is_there =
            |key: Key| uids[key].is_none_or(|uid| self.rows[key].is_some_and(|row| row.uid == uid));
        scope.keys().iter().all(|&key| is_there(key))
    }

    fn prune(&mut self, scope: Scope, keep: PerKey<bool>) {
        for &key in scope.keys().iter().filter(|&&key| !keep[key]) {
            self.rows[key] = None;
        }
    }
}

// === impl Memory ===

impl Memory {
    /// An `End` is taken only for the generation that this attachment began.
    fn expects(&self, item: &Item) -> bool {
        let Item::End { scope, generation, .. } = *item else {
            return true;
        };
        self.generations[scope].as_ref().is_some_and(|begun| begun.number == generation)
    }

    fn begin(&mut self, scope: Scope, number: u8, mutation: Mutation) {
        let before = self.generations[scope].take().filter(|_| mutation == Mutation::MentionedSurvives);
        let mentioned = before.map_or_else(PerKey::default, |generation| generation.mentioned);
        self.generations[scope] = Some(Generation { number, mentioned, recalled: PerKey::default() });
    }

    /// The scope's generation, if one is open.
    fn generation(&mut self, scope: Scope) -> Option<&mut Generation> {
        self.generations[scope].as_mut()
    }

    /// Mentioned objects, and those of them that were not sent.
    fn end(&mut self, scope: Scope) -> (PerKey<bool>, PerKey<Option<Rv>>) {
        let generation = self.generations[scope].take();
        generation.map_or_else(Default::default, |generation| (generation.mentioned, generation.recalled))
    }

    /// State that [`Mutation::AttachmentOutlivesHub`] leaves.
    pub(crate) fn forget_mentioned(&mut self) {
        for generation in self.generations.0.iter_mut().flatten() {
            generation.mentioned = PerKey::default();
            generation.recalled = PerKey::default();
        }
    }
}

// === impl Item ===

impl Item {
    /// Scope of its objects, if it has any.
    pub(crate) fn tells_of(&self) -> Option<Scope> {
        match *self {
            Self::Declare { .. } | Self::Begin { .. } => None,
            Self::Upsert { key, .. } | Self::Mention { key, .. } | Self::Delete { key, .. } => {
                Some(key.scope())
            }
            Self::End { scope, .. } | Self::Progress { scope, .. } => Some(scope),
        }
    }
}
