//! Fingerprints: 64 bits for one version of one object, by which a hub reports the objects that it has.

use std::hash::Hasher;

use crate::{ApiVersion, ResourceVersion, ScrubRevision, Uid};

/// One stored version of an object, as both sides compute it.
///
/// Two versions that share a fingerprint would leave the older one in place until its next change or listing. With
/// 100,000 objects that have all changed, one relist in two billion meets such a pair, and since every listing has a
/// salt of its own, the next one does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

/// Salt that makes the fingerprints of each list different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub u64);

/// Not in any uid or version, so that no two texts run together.
const SEPARATOR: u8 = 0;

// === impl Salt ===

impl Salt {
    /// The fingerprint of an object that was read in this version and scrubbed by these rules.
    pub fn fingerprint(
        self,
        uid: &Uid,
        resource_version: &ResourceVersion,
        api_version: &ApiVersion,
        scrub_revision: ScrubRevision,
    ) -> Fingerprint {
        let mut bytes = Vec::with_capacity(64);
        for text in [uid.as_str(), resource_version.as_str(), api_version.as_str()] {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(SEPARATOR);
        }
        bytes.extend_from_slice(&scrub_revision.0.to_le_bytes());
        Fingerprint(sip_hash(self.0, 0, &bytes))
    }
}

/// SipHash-2-4. The standard library's newer hasher may change with every release; agents and hubs of two releases
/// must agree.
#[expect(
    deprecated,
    reason = "the only hasher of the standard library whose algorithm is part of its documentation"
)]
fn sip_hash(key0: u64, key1: u64, bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::SipHasher::new_with_keys(key0, key1);
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_siphash_paper() {
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(sip_hash(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, &bytes), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn whatever_differs_makes_another_fingerprint() {
        let of = |salt, uid: &str, version: &str, api: &str, scrub| {
            Salt(salt).fingerprint(&uid.into(), &version.into(), &api.into(), ScrubRevision(scrub))
        };
        let one = of(1, "u", "12", "v1", 1);
        assert_eq!(one, of(1, "u", "12", "v1", 1));
        for other in [
            of(2, "u", "12", "v1", 1),
            of(1, "v", "12", "v1", 1),
            of(1, "u1", "2", "v1", 1),
            of(1, "u", "12", "v2", 1),
            of(1, "u", "12", "v1", 2),
        ] {
            assert_ne!(one, other);
        }
    }
}
