//! Ready when nothing is awaited any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Conditions that the process awaits before it is ready.
///
/// Each part registers its condition and drops the guard when it is met, so a part that fails
/// to come up cannot be forgotten.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    awaited: Arc<Mutex<Awaited>>,
}

/// Holds readiness back until it is dropped.
#[must_use = "dropping the guard says that the part is ready"]
#[derive(Debug)]
pub struct ReadinessGuard {
    awaited: Arc<Mutex<Awaited>>,
    id: u64,
}

#[derive(Debug, Default)]
struct Awaited {
    names: BTreeMap<u64, String>,
    next_id: u64,
}

// === impl Readiness ===

impl Readiness {
    /// Starts with nothing awaited.
    pub fn new() -> Self {
        Self::default()
    }

    /// Awaits one more part until the guard is dropped.
    pub fn register(&self, name: impl Into<String>) -> ReadinessGuard {
        let mut awaited = self.awaited.lock();
        let id = awaited.next_id;
        awaited.next_id += 1;
        awaited.names.insert(id, name.into());
        ReadinessGuard { awaited: Arc::clone(&self.awaited), id }
    }

    /// Whether nothing is awaited.
    pub fn is_ready(&self) -> bool {
        self.awaited.lock().names.is_empty()
    }

    /// Returns the names of awaited conditions, in the order of registration.
    pub fn awaited(&self) -> Vec<String> {
        self.awaited.lock().names.values().cloned().collect()
    }
}

// === impl ReadinessGuard ===

impl Drop for ReadinessGuard {
    fn drop(&mut self) {
        let mut awaited = self.awaited.lock();
        let Some(name) = awaited.names.remove(&self.id) else {
            return;
        };
        let left = awaited.names.len();
        drop(awaited);
        tracing::debug!(%name, awaited = left, "part is ready");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_when_the_last_guard_is_gone() {
        let readiness = Readiness::new();
        assert!(readiness.is_ready());
        let store = readiness.register("store");
        let server = readiness.register("server");
        assert_eq!(readiness.awaited(), ["store", "server"]);
        drop(store);
        assert_eq!((readiness.is_ready(), readiness.awaited()), (false, vec!["server".to_owned()]));
        drop(server);
        assert!(readiness.is_ready());
    }

    #[test]
    fn same_name_twice_is_awaited_twice() {
        let readiness = Readiness::new();
        let first = readiness.register("account");
        let _second = readiness.register("account");
        drop(first);
        assert_eq!(readiness.awaited(), ["account"]);
    }
}
