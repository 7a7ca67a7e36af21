//! Reads and batches of an attached agent: it is a pipe, and has positions, never objects.

use crate::api::{ApiServer, Event, Key, Object, Objects, PerKey, PerScope, Rv, Scope};
use crate::mutation::Mutation;
use crate::store::{Answer, Batch, Cursor, Item};

/// Batches that an agent sends ahead of their acknowledgements.
const WINDOW: u8 = 2;

/// The agent's end of an attachment, from the answer until its stream breaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Attachment {
    pub(crate) channel: u8,
    /// The cursor of the next batch.
    pub(crate) next: Cursor,
    pub(crate) unacknowledged: u8,
    pub(crate) declared: Option<PerScope<bool>>,
    /// Relists that this attachment has begun; numbers the next.
    pub(crate) generations: u8,
    positions: PerScope<Position>,
    /// Of which versions there are rows, by the hub's fingerprints. Here they are told with the attachment, which is worse
    /// than what a hub does: it tells them when a list begins, and they are that much younger.
    known: Objects,
}

/// Position up to which a scope was read, which is not the committed one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Position {
    /// Nothing is known, so only a consistent list will do.
    Unknown,
    Watching(Rv),
    /// A list as of `at`, of which `rest` was not yet sent.
    Listing {
        generation: u8,
        at: Rv,
        rest: PerKey<bool>,
    },
}

/// Next steps of an agent; each is sent as one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Discovery,
    ListStart { scope: Scope, at: Rv },
    ListedObject { key: Key },
    ListEnd { scope: Scope },
    WatchEvent { scope: Scope },
    Bookmark { scope: Scope },
}

// === impl Attachment ===

impl Attachment {
    /// The committed resume points are the positions to go on from.
    pub(crate) fn new(channel: u8, answer: &Answer) -> Self {
        let position = |resume: Option<Rv>| resume.map_or(Position::Unknown, Position::Watching);
        Self {
            channel,
            next: answer.cursor,
            unacknowledged: 0,
            declared: None,
            generations: 0,
            positions: PerScope(answer.resume.0.map(position)),
            known: answer.rows,
        }
    }

    pub(crate) fn window_is_full(&self) -> bool {
        self.unacknowledged >= WINDOW
    }

    /// Positions of the scopes by the sent batches: [`Mutation::ResumeFromSent`].
    pub(crate) fn sent(&self) -> PerScope<Option<Rv>> {
        PerScope(self.positions.clone().0.map(|position| match position {
            Position::Watching(rv) => Some(rv),
            Position::Unknown | Position::Listing { .. } => None,
        }))
    }

    /// Whether all changes that the agent can see were sent and acknowledged.
    pub(crate) fn is_idle(&self, api: &ApiServer) -> bool {
        self.unacknowledged == 0
            && self.declared == Some(api.served)
            && Scope::ALL.into_iter().filter(|&scope| api.served[scope]).all(|scope| {
                match self.positions[scope] {
                    Position::Watching(rv) => api.next_event(scope, rv).is_none(),
                    Position::Unknown | Position::Listing { .. } => false,
                }
            })
    }

    pub(crate) fn reads(&self, api: &ApiServer, mutation: Mutation) -> Vec<Read> {
        let mut reads = Vec::new();
        if self.window_is_full() {
            return reads;
        }
        if self.declared != Some(api.served) {
            reads.push(Read::Discovery);
        }
        for scope in Scope::ALL {
            if api.served[scope] && self.declared.is_some_and(|declared| declared[scope]) {
                self.reads_of(scope, api, mutation, &mut reads);
            }
        }
        reads
    }

    fn reads_of(&self, scope: Scope, api: &ApiServer, mutation: Mutation, reads: &mut Vec<Read>) {
        if let Some(oldest) = self.must_list(scope, api, mutation) {
            // The list may come from any API server's cache, as long as it is not older than asked for.
            let versions = oldest.max(api.compacted)..=api.newest();
            reads.extend(versions.filter(|_| self.may_list(scope)).map(|at| Read::ListStart { scope, at }));
            return;
        }
        match &self.positions[scope] {
            Position::Unknown => {}
            Position::Watching(rv) => {
                if api.next_event(scope, *rv).is_some() {
                    reads.push(Read::WatchEvent { scope });
                } else if *rv < api.newest() {
                    reads.push(Read::Bookmark { scope });
                }
            }
            Position::Listing { at, rest, .. } => {
                if let Some(&key) = scope.keys().iter().find(|&&key| rest[key]) {
                    reads.push(Read::ListedObject { key });
                    return;
                }
                reads.push(Read::ListEnd { scope });
                // A streaming list may send events before it is complete.
                if api.next_event(scope, *at).is_some() {
                    reads.push(Read::WatchEvent { scope });
                }
            }
        }
    }

    /// Oldest list that is allowed, if there has to be one. Without a position there is nothing to compare it with, so it
    /// must be consistent: a generation that was interrupted may have written rows of any version up to the newest.
    fn must_list(&self, scope: Scope, api: &ApiServer, mutation: Mutation) -> Option<Rv> {
        match self.positions[scope] {
            Position::Unknown if mutation == Mutation::ListFromCache => Some(0),
            Position::Unknown => Some(api.newest()),
            // 410, of the watch or between two pages of the list
            Position::Watching(rv) | Position::Listing { at: rv, .. } => (rv < api.compacted).then_some(rv),
        }
    }

    /// Lists come one after the other; watches go on beside them.
    fn may_list(&self, scope: Scope) -> bool {
        let mut others = Scope::ALL.into_iter().filter(|&other| other != scope);
        others.all(|other| !matches!(self.positions[other], Position::Listing { .. }))
    }

    /// Reads from the API server and sends the items. Sent items are dropped: they are never sent again.
    pub(crate) fn read(&mut self, read: Read, api: &ApiServer, mutation: Mutation) -> Option<Batch> {
        let (item, as_of) = match read {
            Read::Discovery => (self.discover(api, mutation), 0),
            Read::ListStart { scope, at } => (self.start_list(scope, at, api), at),
            Read::ListedObject { key } => self.listed_object(key, api)?,
            Read::ListEnd { scope } => self.end_list(scope)?,
            Read::WatchEvent { scope } => self.watch_event(scope, api)?,
            Read::Bookmark { scope } => {
                let rv = api.newest();
                self.positions[scope] = Position::Watching(rv);
                (Item::Progress { scope, rv }, rv)
            }
        };
        let batch = Batch { channel: self.channel, cursor: self.next, item, as_of, written: false };
        self.next.seq += 1;
        self.unacknowledged += 1;
        Some(batch)
    }

    fn discover(&mut self, api: &ApiServer, mutation: Mutation) -> Item {
        for scope in Scope::ALL {
            // Its rows go, so if it returns within this attachment, no position it had is worth anything.
            if !api.served[scope] && mutation != Mutation::ReturnToOldPosition {
                self.positions[scope] = Position::Unknown;
            }
        }
        self.declared = Some(api.served);
        Item::Declare { scopes: api.served }
    }

    fn start_list(&mut self, scope: Scope, at: Rv, api: &ApiServer) -> Item {
        self.generations += 1;
        let generation = self.generations;
        let objects = api.objects_at(at);
        let mut rest = PerKey::default();
        for &key in scope.keys() {
            rest[key] = objects[key].is_some();
        }
        self.positions[scope] = Position::Listing { generation, at, rest };
        Item::Begin { scope, generation }
    }

    fn listed_object(&mut self, key: Key, api: &ApiServer) -> Option<(Item, Rv)> {
        let Position::Listing { at, rest, .. } = &mut self.positions[key.scope()] else {
            return None;
        };
        rest[key] = false;
        let object = api.objects_at(*at)[key]?;
        let is_known = self.known[key] == Some(object);
        let item =
            if is_known { Item::Mention { key, uid: object.uid } } else { Item::Upsert { key, object } };
        Some((item, *at))
    }

    fn end_list(&mut self, scope: Scope) -> Option<(Item, Rv)> {
        let Position::Listing { generation, at: rv, .. } = self.positions[scope] else {
            return None;
        };
        self.positions[scope] = Position::Watching(rv);
        Some((Item::End { scope, generation, rv }, rv))
    }

    fn watch_event(&mut self, scope: Scope, api: &ApiServer) -> Option<(Item, Rv)> {
        let (Position::Watching(at) | Position::Listing { at, .. }) = &mut self.positions[scope] else {
            return None;
        };
        let (rv, event) = api.next_event(scope, *at)?;
        *at = rv;
        let item = match event {
            Event::Put { key, uid } => Item::Upsert { key, object: Object { uid, rv } },
            Event::Gone { key, uid } => Item::Delete { key, uid, rv },
        };
        Some((item, rv))
    }
}
