//! The single-use tokens that open a session's channels.

use std::fmt;

use crate::InvalidMessage;

/// The gRPC metadata that names the session a channel belongs to.
pub const SESSION_METADATA: &str = "spindrift-session";
/// The gRPC metadata that carries the channel's token, as hexadecimal digits.
pub const TOKEN_METADATA: &str = "spindrift-token";

/// The gRPC metadata of the Events channel that names the compression dictionaries an agent has, separated by commas;
/// in the answer, the one that the hub reads. Without it nothing is compressed.
pub const DICTIONARY_METADATA: &str = "spindrift-dictionary";
/// gRPC metadata of the Events channel by which an agent reports that it supports fingerprints, and the hub that it
/// will answer every beginning of a listing with them.
pub const FINGERPRINTS_METADATA: &str = "spindrift-fingerprints";

/// gRPC metadata of the Events and Results channels by which an agent reports that it sends heartbeats, and the hub
/// that it answers them.
pub const HEARTBEATS_METADATA: &str = "spindrift-heartbeats";

/// One of a session's channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Pings and account lifecycle.
    Control,
    /// Batches of object events.
    Events,
    /// Large answers.
    Results,
}

/// 256 random bits that open one channel, once.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelToken([u8; 32]);

/// The tokens of a session's channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTokens {
    /// Opens the Control channel.
    pub control: ChannelToken,
    /// Opens the Events channel.
    pub events: ChannelToken,
    /// Opens the Results channel.
    pub results: ChannelToken,
}

// === impl Channel ===

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Control => "Control",
            Self::Events => "Events",
            Self::Results => "Results",
        })
    }
}

// === impl ChannelToken ===

impl ChannelToken {
    /// Takes random bits from the caller, who has the generator.
    pub fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// The bits, to be hashed or compared in constant time.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The form that travels as metadata.
    pub fn to_metadata(&self) -> String {
        let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is one digit");
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// Reads the form that travels as metadata.
    pub fn from_metadata(text: &str) -> Result<Self, InvalidMessage> {
        let invalid = || InvalidMessage::new(TOKEN_METADATA, "expected 64 hexadecimal digits");
        let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)?.try_into().ok()).collect();
        if text.len() != 64 || digits.len() != 64 {
            return Err(invalid());
        }
        let bytes: Vec<u8> =
            digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |high, low| high << 4 | low)).collect();
        bytes.try_into().map(Self).map_err(|_| invalid())
    }
}

impl fmt::Debug for ChannelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelToken(…)")
    }
}

impl TryFrom<&[u8]> for ChannelToken {
    type Error = InvalidMessage;
    fn try_from(bytes: &[u8]) -> Result<Self, InvalidMessage> {
        bytes.try_into().map(Self).map_err(|_| InvalidMessage::new("token", "expected 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_metadata_and_never_shows_in_logs() {
        let token = ChannelToken::new(std::array::from_fn(|i| u8::try_from(i * 7).unwrap()));
        assert_eq!(ChannelToken::from_metadata(&token.to_metadata()), Ok(token.clone()));
        assert_eq!(format!("{token:?}"), "ChannelToken(…)");
    }

    #[test]
    fn what_is_not_64_hexadecimal_digits_is_refused() {
        for text in ["", "00", &"g".repeat(64), &"0".repeat(63), &"é".repeat(32)] {
            assert!(ChannelToken::from_metadata(text).is_err(), "{text}");
        }
    }
}
