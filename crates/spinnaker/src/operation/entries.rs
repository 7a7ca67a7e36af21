//! Body of a request: objects of operations by name, in order.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// Entries of a list of objects, `[{"<operation>": {…}, …}, …]`, in the order of the text, which is that of the operations;
/// each is deserialized as `T`.
#[derive(Debug)]
pub struct Entries<T>(pub Vec<(String, T)>);

/// One of the objects.
struct EntryObject<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let objects = Vec::<EntryObject<T>>::deserialize(deserializer)?;
        Ok(Self(objects.into_iter().flat_map(|EntryObject(entries)| entries).collect()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for EntryObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = EntryObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of operations by name")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(EntryObject(entries))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}
