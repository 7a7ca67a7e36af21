//! Access of serde to lists, maps and variants.

use std::collections::{BTreeMap, btree_map};
use std::vec;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::super::tree::{Tree, Value};
use super::{Reader, Rejected, Step};

/// The elements of a list.
pub(super) struct Items {
    rest: vec::IntoIter<Tree>,
    index: usize,
}

/// The entries of a map.
pub(super) struct Entries {
    rest: btree_map::IntoIter<String, Tree>,
    nulls: Nulls,
    current: Option<(String, Tree)>,
}

/// Meaning of a key without a value (`accounts:` and nothing below).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// The default of its type.
    Default,
    /// An explicit null, where users choose the keys.
    Kept,
}

/// One variant of an enum with content.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) content: Tree,
}

// === impl Items ===

impl Items {
    pub(super) fn new(items: Vec<Tree>) -> Self {
        Self { rest: items.into_iter(), index: 0 }
    }
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Rejected;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Rejected> {
        let Some(tree) = self.rest.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        Rejected::within(seed, tree, || Step::Index(index)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

// === impl Entries ===

impl Entries {
    pub(super) fn new(entries: BTreeMap<String, Tree>, nulls: Nulls) -> Self {
        Self { rest: entries.into_iter(), nulls, current: None }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Rejected;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Rejected> {
        let nulls = self.nulls;
        let counts = |tree: &Tree| nulls == Nulls::Kept || !matches!(tree.value, Value::Null);
        let Some((key, tree)) = self.rest.by_ref().find(|(_, tree)| counts(tree)) else {
            return Ok(None);
        };
        let name = key.clone();
        self.current = Some((key, tree));
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Rejected> {
        let Some((key, tree)) = self.current.take() else {
            return Err(serde::de::Error::custom("value asked for before its key"));
        };
        Rejected::within(seed, tree, || Step::Key(key))
    }
}

// === impl Variant ===

impl<'de> EnumAccess<'de> for Variant {
    type Error = Rejected;
    type Variant = Reader;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Reader), Rejected> {
        Ok((seed.deserialize(self.name.into_deserializer())?, Reader(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Reader {
    type Error = Rejected;

    fn unit_variant(self) -> Result<(), Rejected> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Rejected> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Rejected> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        self.deserialize_map(visitor)
    }
}
