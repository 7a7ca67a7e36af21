//! JSON objects parsed one level deep: fields in their order, with their values as raw bytes.

pub(crate) mod filter;
pub(crate) mod mask;
pub(crate) mod path;

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

/// JSON of an API server that cannot be parsed.
///
/// Unlike serde's messages it never quotes the JSON, which may be the value of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The text is not JSON.
    #[error("no JSON from line {line} column {column} on")]
    Syntax {
        /// Counted from 1, in the part of the text that was being read.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// The text ends too early.
    #[error("the JSON ends too early")]
    Truncated,
    /// A value has the wrong type, or a field is missing or doubled.
    #[error("an unexpected type, or a missing or doubled field, before line {line} column {column}")]
    Shape {
        /// Counted from 1, in the part of the text that was being read.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// A required field is missing or repeated.
    #[error("{0} is not there exactly once")]
    NotOnce(&'static str),
    /// A required field is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// A key, or the document around the objects, is longer than any valid one.
    #[error("a key, or the document around the objects, is too long")]
    TooLong,
    /// The object is longer than the limit of any API server.
    #[error("longer than an object may be")]
    ObjectTooLong,
    /// The type of an event is unknown.
    #[error("an unknown type of event")]
    UnknownType,
}

/// Fields of one JSON object.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Vec<Field<'a>>);

#[derive(Debug)]
pub(crate) struct Field<'a> {
    /// Key as it was written, in quotes.
    pub(crate) key: &'a str,
    /// Key without escapes: `"dat\u0061"` is `data`.
    pub(crate) name: Cow<'a, str>,
    pub(crate) value: &'a RawValue,
}

/// Parses a string value.
pub(crate) fn text(value: &RawValue) -> Result<Cow<'_, str>, Malformed> {
    Ok(unquote(value.get())?)
}

/// Parses a string or key in quotes.
pub(crate) fn unquote(quoted: &str) -> serde_json::Result<Cow<'_, str>> {
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(quoted).map(Cow::Owned),
    }
}

// === impl Malformed ===

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            Category::Syntax | Category::Io => Self::Syntax { line, column },
            Category::Data => Self::Shape { line, column },
            Category::Eof => Self::Truncated,
        }
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a RawValue) -> Result<Self, Malformed> {
        Ok(serde_json::from_str(value.get())?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Field<'a>> {
        self.0.iter()
    }

    /// Returns the value of an optional field.
    pub(crate) fn get(&self, name: &'static str) -> Result<Option<&'a RawValue>, Malformed> {
        let mut found = self.iter().filter(|field| field.name == name);
        match (found.next(), found.next()) {
            (field, None) => Ok(field.map(|field| field.value)),
            _ => Err(Malformed::NotOnce(name)),
        }
    }

    /// Returns the value of a required field.
    pub(crate) fn require(&self, name: &'static str) -> Result<&'a RawValue, Malformed> {
        self.get(name)?.ok_or(Malformed::NotOnce(name))
    }

    /// Returns the text of a required field, which must not be empty.
    pub(crate) fn require_text(&self, name: &'static str) -> Result<Cow<'a, str>, Malformed> {
        Some(text(self.require(name)?)?).filter(|text| !text.is_empty()).ok_or(Malformed::Empty(name))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                    let name = unquote(key.get()).map_err(serde::de::Error::custom)?;
                    fields.push(Field { key: key.get(), name, value });
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_their_spelling() {
        let fields: Fields<'_> = serde_json::from_str(r#"{"b":1,"\u0061":{"x": [1]},"b":"2"}"#).unwrap();
        let seen: Vec<_> = fields.iter().map(|f| (f.key, &*f.name, f.value.get())).collect();
        assert_eq!(
            seen,
            [(r#""b""#, "b", "1"), (r#""\u0061""#, "a", r#"{"x": [1]}"#), (r#""b""#, "b", r#""2""#)]
        );
        assert_eq!(fields.require("a").unwrap().get(), r#"{"x": [1]}"#);
        assert_eq!(fields.require("b").unwrap_err(), Malformed::NotOnce("b"));
        assert_eq!(fields.require("c").unwrap_err(), Malformed::NotOnce("c"));
    }

    #[test]
    fn errors_do_not_quote_what_they_read() {
        for json in
            [r#""canary""#, r#"{"canary":canary}"#, r#"{"canary\ud800":1}"#, r#"{"canary":"can"#, "[1]"]
        {
            let error = Malformed::from(serde_json::from_str::<Fields<'_>>(json).unwrap_err());
            assert!(!error.to_string().contains("can"), "{error}");
        }
    }
}
