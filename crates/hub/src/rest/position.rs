//! Where a reader of the change feed stands: one position per account, as text (`Last-Event-ID`).

use std::{collections::BTreeMap, fmt, str::FromStr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use spindrift_model::{AccountName, Seq};

/// Bytes of account names that are escaped: names may hold anything; an event id must not hold line ends, nor our own
/// separators.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// A reader's position in each account's feed: `prod-eu=1042;prod-us=77`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Positions(pub(super) BTreeMap<AccountName, Seq>);

/// A text that is not a position.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected account=number pairs joined by `;`, found {0:?}")]
pub(super) struct InvalidPositions(String);

// === impl Positions ===

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (account, seq)) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ";" };
            write!(f, "{separator}{}={seq}", utf8_percent_encode(account.as_str(), ESCAPED))?;
        }
        Ok(())
    }
}

impl FromStr for Positions {
    type Err = InvalidPositions;
    fn from_str(text: &str) -> Result<Self, InvalidPositions> {
        let pair = |pair: &str| {
            let (account, seq) = pair.split_once('=')?;
            Some((AccountName::parse(&unescape(account)?).ok()?, Seq(seq.parse().ok()?)))
        };
        text.split(';')
            .filter(|part| !part.is_empty())
            .map(|part| pair(part).ok_or_else(|| InvalidPositions(part.chars().take(80).collect())))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Decodes an account name; none if an escape is malformed.
fn unescape(text: &str) -> Option<String> {
    // The decoder leaves a malformed escape as it is, but a name never contains a bare percent sign.
    let mut escapes = text.split('%').skip(1);
    let is_escape = |after: &str| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !escapes.all(is_escape) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_way_through_a_client() {
        let names = ["prod-eu_1.x", "a=b;c", "Zürich 100%"];
        let positions =
            names.iter().zip(1..).map(|(name, seq)| (AccountName::parse(name).unwrap(), Seq(seq)));
        let positions = Positions(positions.collect());
        let text = positions.to_string();
        assert!(text.is_ascii() && !text.contains(' '), "{text}");
        assert_eq!(text.parse(), Ok(positions));
        assert_eq!("".parse(), Ok(Positions::default()));
    }

    #[test]
    fn an_invalid_position_is_quoted_in_the_error() {
        for text in ["prod", "prod=", "prod=x", "=1", "pr%zzod=1", "a=1;b"] {
            assert!(text.parse::<Positions>().is_err(), "{text}");
        }
    }
}
