//! Last good responses to requests that Gate and Fiat poll, from the upstream Clouddriver and from this hub.

use std::time::Duration;

use bytes::Bytes;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Size of all bodies: two polled lists of a few users, of some megabytes each.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Number of bodies, however small: each user has its own.
const MAX_ENTRIES: usize = 64;

/// Source of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// Path, query and user of a request: the list of applications depends on the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestKey {
    pub(super) path: String,
    pub(super) user: Option<Bytes>,
}

/// Response bodies, oldest first.
#[derive(Debug)]
pub(super) struct LastGood {
    bodies: Mutex<IndexMap<(Side, RequestKey), (Instant, Bytes)>>,
    keep: Duration,
}

// === impl LastGood ===

impl LastGood {
    pub(super) fn new(keep: Duration) -> Self {
        Self { bodies: Mutex::default(), keep }
    }

    pub(super) fn store(&self, side: Side, key: &RequestKey, body: &Bytes, now: Instant) {
        if self.keep.is_zero() || body.len() > MAX_BYTES {
            return;
        }
        let mut bodies = self.bodies.lock();
        bodies.shift_remove(&(side, key.clone()));
        bodies.retain(|_, (at, _)| now - *at < self.keep);
        let mut bytes: usize = bodies.values().map(|(_, body)| body.len()).sum();
        while bodies.len() >= MAX_ENTRIES || bytes + body.len() > MAX_BYTES {
            let Some((_, (_, oldest))) = bodies.shift_remove_index(0) else { break };
            bytes -= oldest.len();
        }
        bodies.insert((side, key.clone()), (now, body.clone()));
    }

    pub(super) fn get(&self, side: Side, key: &RequestKey, now: Instant) -> Option<Bytes> {
        let bodies = self.bodies.lock();
        let (at, body) = bodies.get(&(side, key.clone()))?;
        (now - *at < self.keep).then(|| body.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn key(path: &str, user: Option<&'static str>) -> RequestKey {
        RequestKey { path: path.into(), user: user.map(|user| Bytes::from_static(user.as_bytes())) }
    }

    #[test]
    fn a_body_is_kept_for_a_while_for_the_same_user_and_path() {
        let (last_good, now, body) = (LastGood::new(MINUTE), Instant::now(), Bytes::from_static(b"[]"));
        let asked = key("/applications", Some("ann"));
        last_good.store(Side::Theirs, &asked, &body, now);
        assert_eq!(last_good.get(Side::Theirs, &asked, now), Some(body.clone()));
        for other in [key("/applications?expand=true", Some("ann")), key("/applications", Some("bob"))] {
            assert_eq!(last_good.get(Side::Theirs, &other, now), None, "{other:?}");
        }
        assert_eq!(last_good.get(Side::Ours, &asked, now), None);
        assert_eq!(last_good.get(Side::Theirs, &asked, now + MINUTE), None);
        let never = LastGood::new(Duration::ZERO);
        never.store(Side::Theirs, &asked, &body, now);
        assert_eq!(never.get(Side::Theirs, &asked, now), None);
    }

    #[test]
    fn the_oldest_body_is_evicted() {
        let (last_good, now) = (LastGood::new(MINUTE), Instant::now());
        let known = |path: &str| last_good.get(Side::Theirs, &key(path, None), now).is_some();
        let large = Bytes::from(vec![0; MAX_BYTES / 2]);
        for path in ["/one", "/two", "/one", "/three"] {
            last_good.store(Side::Theirs, &key(path, None), &large, now);
        }
        assert_eq!(["/one", "/two", "/three"].map(known), [true, false, true], "`/one` was stored again");
        let too_large = Bytes::from(vec![0; MAX_BYTES + 1]);
        last_good.store(Side::Theirs, &key("/four", None), &too_large, now);
        assert_eq!(["/one", "/three", "/four"].map(known), [true, true, false]);
        for user in 0..=MAX_ENTRIES {
            let asked = RequestKey { path: "/small".into(), user: Some(user.to_string().into()) };
            last_good.store(Side::Theirs, &asked, &Bytes::from_static(b"[]"), now);
        }
        assert!(!known("/one") && last_good.bodies.lock().len() == MAX_ENTRIES);
    }
}
