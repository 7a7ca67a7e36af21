//! Operation ids: ULIDs, which sort by the time they were made.

use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::{ULID_LEN, Ulid};
use uuid::Uuid;

/// ULID: 48 bits of milliseconds since 1970, 80 random bits; 26 characters of Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(Ulid);

/// A text that is no ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation id {0:?} is not a ULID of 26 characters")]
pub struct InvalidOperationId(String);

// === impl OperationId ===

impl OperationId {
    /// New id.
    pub fn fresh() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // A version 4 UUID is random except for six bits, which the exclusive or of two of them makes up for.
        let random = Uuid::new_v4().as_u128() ^ Uuid::new_v4().as_u128().rotate_left(64);
        Self(Ulid::from_parts(u64::try_from(since_1970).unwrap_or(u64::MAX), random))
    }

    /// Another id of the same time, with these bits instead of random ones: the same bits give the same id.
    #[must_use]
    pub fn sibling(self, bits: [u8; 10]) -> Self {
        let bits = bits.into_iter().fold(0, |bits, byte| bits << 8 | u128::from(byte));
        Self(Ulid::from_parts(self.0.timestamp_ms(), bits))
    }

    /// Time at which it was made, in milliseconds since 1970.
    pub fn made_at_ms(self) -> u64 {
        self.0.timestamp_ms()
    }
}

impl FromStr for OperationId {
    type Err = InvalidOperationId;
    fn from_str(text: &str) -> Result<Self, InvalidOperationId> {
        // The first character has three bits only; the crate drops the others.
        let has_128_bits = text.as_bytes().first().is_some_and(|first| *first <= b'7');
        let parsed = Ulid::from_string(text).ok().filter(|_| has_128_bits);
        parsed.map(Self).ok_or_else(|| InvalidOperationId(text.chars().take(2 * ULID_LEN).collect()))
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.array_to_str(&mut [0; ULID_LEN]))
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for OperationId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperationId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_sort_by_time() {
        let one = OperationId::fresh();
        assert_eq!(one.to_string().len(), ULID_LEN);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(one.to_string().to_lowercase().parse(), Ok(one));
        let later = OperationId(Ulid::from_parts(one.made_at_ms() + 1, one.0.random()));
        assert!(later.to_string() > one.to_string() && later.made_at_ms() == one.made_at_ms() + 1);
        assert_eq!(
            "01ARYZ6S41TSV4RRFFQ69G5FAV".parse::<OperationId>().unwrap().made_at_ms(),
            1_469_918_176_385
        );
        let fixed = OperationId(Ulid(0x0156_3df3_6481_d0f5_1b2c_3d4e_5f60_7182));
        assert_eq!(fixed.to_string(), "01ARYZ6S41T3THPB1X9SFP0WC2");
        let bits = [0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x77, 0x66];
        assert_eq!(fixed.sibling(bits).to_string(), "01ARYZ6S41ZZQDVK5VNACRGXV6");
    }

    #[test]
    fn a_sibling_is_of_the_same_moment_and_always_the_same() {
        let one = OperationId::fresh();
        let sibling = one.sibling([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(sibling, one.sibling([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1]));
        assert_ne!(sibling, one.sibling([0; 10]));
        assert_eq!(sibling.made_at_ms(), one.made_at_ms());
        assert!(sibling.to_string().ends_with('1'));
    }

    #[test]
    fn a_text_that_is_no_ulid_is_refused() {
        for text in [
            "",
            "81ARYZ6S41TSV4RRFFQ69G5FAV",
            "01ARYZ6S41TSV4RRFFQ69G5FAU",
            "01ARYZ6S41TSV4RRFFQ69G5FA",
            "ü1ARYZ6S41TSV4RRFFQ69G5FA",
        ] {
            assert!(text.parse::<OperationId>().is_err(), "{text}");
        }
    }
}
