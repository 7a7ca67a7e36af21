//! Query parameters and percent decoding.

use std::str::FromStr;

use crate::status::Status;

/// Decoded query parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

// === impl Query ===

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key, PlusSign::IsSpace), decode(value, PlusSign::IsSpace))
        });
        Self(pairs.collect())
    }

    /// First value of a key; none if it is missing or empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(name, _)| name == key);
        pair.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn has(&self, key: &str, value: &str) -> bool {
        self.0.iter().any(|(name, found)| name == key && found == value)
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| matches!(value, "1" | "true" | "True" | "TRUE" | "t" | "T"))
    }

    /// Parses a number; the error has the words of the real server.
    pub(crate) fn number<T: FromStr>(&self, key: &str) -> Result<Option<T>, Status> {
        let Some(text) = self.get(key) else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }
}

/// Meaning of `+`: a space in queries, itself in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlusSign {
    IsSpace,
    IsPlus,
}

/// Percent-decodes text; invalid UTF-8 is replaced.
pub(crate) fn decode(text: &str, plus: PlusSign) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = (first == b'%').then(|| tail.get(..2)).flatten();
        let code = escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, code) {
            (_, Some(code)) => {
                bytes.push(code);
                rest = tail.get(2..).unwrap_or_default();
            }
            (b'+', None) if plus == PlusSign::IsSpace => bytes.push(b' '),
            (other, None) => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_and_broken_escapes_kept() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+(d)&limit=5&x=%zz&watch");
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(query.number::<i64>("limit").unwrap(), Some(5));
        assert_eq!(query.get("x"), Some("%zz"));
        assert_eq!(query.get("watch"), None);
        assert_eq!(decode("a+b%2", PlusSign::IsPlus), "a+b%2");
    }
}
