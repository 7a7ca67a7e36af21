//! Deserialiser from the tree to settings: the type decides how a scalar is read, and errors name its position.

use serde::de::value::StringDeserializer;
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::error::ConfigError;
use super::schema::relaxed;
use super::tree::{Kind, Scalar, Tree, Value};

mod access;
mod rejected;
mod scalar;

use access::{Entries, Items, Nulls, Variant};
use rejected::{Rejected, Step};

/// Reads settings out of a tree in canonical spelling.
pub(crate) fn read<T: DeserializeOwned>(tree: Tree) -> Result<T, ConfigError> {
    T::deserialize(Reader(tree)).map_err(Rejected::into_config_error)
}

/// A tree being read.
struct Reader(Tree);

// === impl Reader ===

impl Reader {
    fn mismatch<'de, V: Visitor<'de>>(self, visitor: &V) -> Rejected {
        let found = match &self.0.value {
            Value::Null => Unexpected::Unit,
            Value::List(_) => Unexpected::Seq,
            Value::Map(_) => Unexpected::Map,
            Value::Scalar(scalar) => scalar.unexpected(),
        };
        de::Error::invalid_type(found, visitor)
    }

    fn entries<'de, V: Visitor<'de>>(self, visitor: V, nulls: Nulls) -> Result<V::Value, Rejected> {
        match self.0.value {
            Value::Map(entries) => visitor.visit_map(Entries::new(entries, nulls)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn integer<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        let Value::Scalar(scalar) = &self.0.value else {
            return Err(self.mismatch(&visitor));
        };
        match scalar.number() {
            Kind::Signed(value) => visitor.visit_i64(value),
            Kind::Unsigned(value) => visitor.visit_u64(value),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn float<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0.value {
            Value::Scalar(Scalar { kind: Kind::Float(value), .. }) => visitor.visit_f64(*value),
            Value::Scalar(scalar) => match scalar.text.trim().parse() {
                Ok(value) => visitor.visit_f64(value),
                Err(_) => Err(self.mismatch(&visitor)),
            },
            _ => Err(self.mismatch(&visitor)),
        }
    }
}

/// All integers are read alike; the visitor checks the range.
macro_rules! integers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
            self.integer(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Rejected;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::List(items) => visitor.visit_seq(Items::new(items)),
            Value::Map(entries) => visitor.visit_map(Entries::new(entries, Nulls::Default)),
            Value::Scalar(scalar) => match scalar.kind {
                Kind::Bool(value) => visitor.visit_bool(value),
                Kind::Signed(value) => visitor.visit_i64(value),
                Kind::Unsigned(value) => visitor.visit_u64(value),
                Kind::Float(value) => visitor.visit_f64(value),
                Kind::Text => visitor.visit_string(scalar.text),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        let Value::Scalar(scalar) = &self.0.value else {
            return Err(self.mismatch(&visitor));
        };
        match scalar.text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => visitor.visit_bool(true),
            "false" | "no" | "off" => visitor.visit_bool(false),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.float(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.float(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0.value {
            Value::Scalar(scalar) => visitor.visit_string(scalar.text),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.deserialize_string(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.deserialize_string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        visitor.visit_newtype_struct(self)
    }

    /// A single value where a list is wanted is a list separated by commas, as Spring has it.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        let Tree { value, origin } = self.0;
        match value {
            Value::List(items) => visitor.visit_seq(Items::new(items)),
            Value::Scalar(scalar) => visitor.visit_seq(Items::new(scalar.split_at_commas(&origin))),
            value => Err(Reader(Tree { value, origin }).mismatch(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        self.entries(visitor, Nulls::Kept)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        self.entries(visitor, Nulls::Default)
    }

    /// Names of variants match in any case, as Spring has it.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rejected> {
        let spelled = |name: String| match variants.iter().find(|known| relaxed(known) == relaxed(&name)) {
            Some(known) => (*known).to_owned(),
            None => name,
        };
        match self.0.value {
            Value::Scalar(scalar) => {
                let name: StringDeserializer<Rejected> = spelled(scalar.text).into_deserializer();
                visitor.visit_enum(name)
            }
            Value::Map(mut entries) if entries.len() == 1 => match entries.pop_first() {
                Some((name, content)) => visitor.visit_enum(Variant { name: spelled(name), content }),
                None => Err(de::Error::custom("expected one variant")),
            },
            _ => Err(self.mismatch(&visitor)),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct ignored_any
    }
}
