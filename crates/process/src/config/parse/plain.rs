//! A YAML value without its place in the text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::tree::Kind;
use super::Node;

/// The node's value before the written form of its scalars is looked up.
pub(super) enum Plain {
    Null,
    Scalar(Kind, Option<String>),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

// === impl Plain ===

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain::Null)
    }

    fn visit_none<E>(self) -> Result<Plain, E> {
        Ok(Plain::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
        Ok(Plain::Scalar(Kind::Bool(value), None))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
        Ok(Plain::Scalar(Kind::Signed(value), None))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
        Ok(Plain::Scalar(Kind::Unsigned(value), None))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
        Ok(Plain::Scalar(Kind::Float(value), None))
    }

    fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
        Ok(Plain::Scalar(Kind::Text, Some(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Plain, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Plain::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Plain, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Plain::Map(map))
    }
}

// === impl Kind ===

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text => Ok(()),
        }
    }
}
