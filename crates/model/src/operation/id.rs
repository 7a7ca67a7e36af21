//! Operation ids: ULIDs, which sort by the time they were made.

use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A ULID: 48 bits of milliseconds since 1970, 80 random bits; 26 characters of Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(u128);

/// A text that is no ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation id {0:?} is not a ULID of 26 characters")]
pub struct InvalidOperationId(String);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 26;
const RANDOM_BITS: u32 = 80;

// === impl OperationId ===

impl OperationId {
    /// A new id.
    pub fn fresh() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // A version 4 UUID is random but for six bits, which two of them, folded, make good.
        let random = Uuid::new_v4().as_u128() ^ Uuid::new_v4().as_u128().rotate_left(64);
        Self(since_1970 << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1))
    }

    /// Another id of the same moment, with these bits in the place of random ones: who makes it again gets the same.
    #[must_use]
    pub fn sibling(self, bits: [u8; 10]) -> Self {
        let bits = bits.into_iter().fold(0, |bits, byte| bits << 8 | u128::from(byte));
        Self(self.0 >> RANDOM_BITS << RANDOM_BITS | bits)
    }

    /// When it was made, in milliseconds since 1970.
    pub fn made_at_ms(self) -> u64 {
        u64::try_from(self.0 >> RANDOM_BITS).unwrap_or(u64::MAX)
    }
}

impl FromStr for OperationId {
    type Err = InvalidOperationId;
    fn from_str(text: &str) -> Result<Self, InvalidOperationId> {
        let invalid = || InvalidOperationId(text.chars().take(2 * LENGTH).collect());
        // The first character holds three bits only.
        if text.len() != LENGTH || text.as_bytes()[0] > b'7' {
            return Err(invalid());
        }
        let mut value = 0;
        for character in text.bytes() {
            let digit = ALPHABET.iter().position(|known| *known == character.to_ascii_uppercase());
            value = value << 5 | digit.ok_or_else(invalid)? as u128;
        }
        Ok(Self(value))
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (0..LENGTH).rev().map(|place| ALPHABET[(self.0 >> (5 * place) & 31) as usize]);
        digits.map(char::from).try_for_each(|digit| fmt::Write::write_char(f, digit))
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
        assert_eq!(one.to_string().len(), LENGTH);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(one.to_string().to_lowercase().parse(), Ok(one));
        let later = OperationId(one.0 + (1 << RANDOM_BITS));
        assert!(later.to_string() > one.to_string() && later.made_at_ms() == one.made_at_ms() + 1);
        assert_eq!(
            "01ARYZ6S41TSV4RRFFQ69G5FAV".parse::<OperationId>().unwrap().made_at_ms(),
            1_469_918_176_385
        );
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
    fn what_is_no_ulid_is_refused() {
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
