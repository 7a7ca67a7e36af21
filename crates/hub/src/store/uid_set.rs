//! The uids that a listing has mentioned, in 16 bytes each.

use std::collections::HashSet;

use aws_lc_rs::digest;
use spindrift_model::Uid;
use uuid::Uuid;

/// A set of uids; a hundred thousand of them take a few megabytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UidSet(HashSet<u128>);

// === impl UidSet ===

impl UidSet {
    /// Adds a uid; false if it was there.
    pub fn insert(&mut self, uid: &Uid) -> bool {
        self.0.insert(pack(uid.as_str()))
    }

    /// Takes a uid out; false if it was not there.
    pub fn remove(&mut self, uid: &Uid) -> bool {
        self.0.remove(&pack(uid.as_str()))
    }

    /// Whether the uid was added.
    pub fn contains(&self, uid: &Uid) -> bool {
        self.contains_text(uid.as_str())
    }

    pub(super) fn contains_text(&self, uid: &str) -> bool {
        self.0.contains(&pack(uid))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> FromIterator<&'a Uid> for UidSet {
    fn from_iter<T: IntoIterator<Item = &'a Uid>>(uids: T) -> Self {
        Self(uids.into_iter().map(|uid| pack(uid.as_str())).collect())
    }
}

/// Kubernetes' own uids are UUIDs; aggregated API servers may use anything, which is hashed (and so cannot be made to
/// collide).
fn pack(uid: &str) -> u128 {
    // Other spellings of a UUID are other uids.
    if uid.len() == 36
        && let Ok(uuid) = Uuid::try_parse(uid)
    {
        return uuid.as_u128();
    }
    let digest = digest::digest(&digest::SHA256, uid.as_bytes());
    digest.as_ref().iter().take(16).fold(0, |packed, byte| packed << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_of_any_form_are_distinguished() {
        let uids: Vec<Uid> = [
            "6f1c3a52-7a0e-4a0b-9d51-2f1d3c1c9b11",
            "6f1c3a52-7a0e-4a0b-9d51-2f1d3c1c9b12",
            "6f1c3a527a0e4a0b9d512f1d3c1c9b11",
            "node-7",
            "",
        ]
        .map(Uid::from)
        .into();
        let set: UidSet = uids.iter().collect();
        assert_eq!(set.len(), uids.len());
        assert!(uids.iter().all(|uid| set.contains(uid)));
        assert!(!set.contains(&Uid::from("node-8")));
    }
}
