//! Where a reader of the change feed stands: one position per account, as text (`Last-Event-ID`).

use std::{collections::BTreeMap, fmt, str::FromStr};

use spindrift_model::{AccountName, Seq};

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
            write!(f, "{separator}{}={seq}", escape(account.as_str()))?;
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

/// Account names may hold anything; an event id may not hold line ends, nor our own separators.
fn escape(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? << 4 | digit(rest.next())?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
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
