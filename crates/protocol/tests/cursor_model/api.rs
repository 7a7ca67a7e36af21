//! The API server: the truth that the rows must follow, with its history.

use std::ops::{Index, IndexMut};

/// A resource version. The model counts changes, so that the history can be asked for the state at each.
pub(crate) type Rv = u8;

/// Unit of a list and a watch: (account, resource, namespace or all).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Two objects that come, change, go and come back under the same name.
    Pods,
    /// A custom resource with one object; the scope itself may vanish and return.
    Widgets,
}

/// Name of an object. It does not identify the object: the uid does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    PodA,
    PodB,
    Widget,
}

/// An object as its identity and version; no rule of the protocol looks at its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) uid: Rv,
    pub(crate) rv: Rv,
}

/// One value for each scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PerScope<T>(pub(crate) [T; 2]);

/// One value for each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PerKey<T>(pub(crate) [T; 3]);

/// The objects that exist, in the API server or as rows of the store.
pub(crate) type Objects = PerKey<Option<Object>>;

/// A watch event; its resource version is its place in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Put { key: Key, uid: Rv },
    Gone { key: Key, uid: Rv },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ApiServer {
    history: Vec<Event>,
    /// Changes up to here can no longer be watched (410).
    pub(crate) compacted: Rv,
    /// Which scopes discovery and the agents' configuration show.
    pub(crate) served: PerScope<bool>,
}

const START: [Event; 2] = [Event::Put { key: Key::Widget, uid: 1 }, Event::Put { key: Key::PodA, uid: 2 }];

// === impl Scope ===

impl Scope {
    pub(crate) const ALL: [Self; 2] = [Self::Pods, Self::Widgets];

    pub(crate) fn keys(self) -> &'static [Key] {
        match self {
            Self::Pods => &[Key::PodA, Key::PodB],
            Self::Widgets => &[Key::Widget],
        }
    }
}

// === impl Key ===

impl Key {
    pub(crate) const ALL: [Self; 3] = [Self::PodA, Self::PodB, Self::Widget];

    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::PodA | Self::PodB => Scope::Pods,
            Self::Widget => Scope::Widgets,
        }
    }
}

// === impl PerScope, PerKey ===

impl<T> Index<Scope> for PerScope<T> {
    type Output = T;

    fn index(&self, scope: Scope) -> &T {
        &self.0[scope as usize]
    }
}

impl<T> IndexMut<Scope> for PerScope<T> {
    fn index_mut(&mut self, scope: Scope) -> &mut T {
        &mut self.0[scope as usize]
    }
}

impl<T> Index<Key> for PerKey<T> {
    type Output = T;

    fn index(&self, key: Key) -> &T {
        &self.0[key as usize]
    }
}

impl<T> IndexMut<Key> for PerKey<T> {
    fn index_mut(&mut self, key: Key) -> &mut T {
        &mut self.0[key as usize]
    }
}

impl Objects {
    /// Whether both hold the same objects of the scope.
    pub(crate) fn agree(&self, other: &Self, scope: Scope) -> bool {
        scope.keys().iter().all(|&key| self[key] == other[key])
    }
}

// === impl Event ===

impl Event {
    pub(crate) fn key(self) -> Key {
        match self {
            Self::Put { key, .. } | Self::Gone { key, .. } => key,
        }
    }
}

// === impl ApiServer ===

impl ApiServer {
    /// A server with one widget and one pod.
    pub(crate) fn new(served: PerScope<bool>) -> Self {
        Self { history: START.to_vec(), compacted: 0, served }
    }

    pub(crate) fn newest(&self) -> Rv {
        Rv::try_from(self.history.len()).expect("a bounded model has a short history")
    }

    /// Number of changes since the model started.
    pub(crate) fn changes(&self) -> usize {
        self.history.len() - START.len()
    }

    /// The objects of all scopes as they were right after `rv`.
    pub(crate) fn objects_at(&self, rv: Rv) -> Objects {
        let mut objects = Objects::default();
        for (event, rv) in self.history.iter().zip(1..=rv) {
            match *event {
                Event::Put { key, uid } => objects[key] = Some(Object { uid, rv }),
                Event::Gone { key, .. } => objects[key] = None,
            }
        }
        objects
    }

    /// Expected rows in the end: the newest objects of the scopes that are served.
    pub(crate) fn truth(&self) -> Objects {
        let mut objects = self.objects_at(self.newest());
        for key in Key::ALL {
            if !self.served[key.scope()] {
                objects[key] = None;
            }
        }
        objects
    }

    /// Next event of a watch of the scope from `rv`.
    pub(crate) fn next_event(&self, scope: Scope, rv: Rv) -> Option<(Rv, Event)> {
        let events = (1..).zip(self.history.iter().copied());
        events.skip(rv.into()).find(|(_, event)| event.key().scope() == scope)
    }

    /// Creates the object, or updates it.
    pub(crate) fn write(&mut self, key: Key) {
        let living = self.objects_at(self.newest())[key];
        let uid = living.map_or(self.newest() + 1, |object| object.uid);
        self.history.push(Event::Put { key, uid });
    }

    /// Deletes the object if there is one.
    pub(crate) fn remove(&mut self, key: Key) {
        if let Some(Object { uid, .. }) = self.objects_at(self.newest())[key] {
            self.history.push(Event::Gone { key, uid });
        }
    }

    /// Drops the history, as etcd's compaction does.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.newest();
    }
}
