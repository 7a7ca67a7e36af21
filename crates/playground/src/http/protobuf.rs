//! Decoder for protobuf bodies, which client-go's typed clients write.
//!
//! ```text
//! k8s\0 Unknown { 1: TypeMeta { 1: apiVersion, 2: kind }, 2: the object }
//! ```
//!
//! [`crate::builtin_schema`] maps field numbers to names. Responses are JSON: clients that write protobuf read both.

mod wire;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use crate::builtin_schema::fields::{self, Field, FieldType};
use wire::{InvalidProtobuf, MessageReader, WireValue};

pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Prefix of every protobuf body.
const MAGIC: &[u8] = b"k8s\0";

/// Maximum nesting; no object of Kubernetes is deeper.
const DEEPEST: usize = 32;

/// Converts an object to JSON, or returns why it cannot.
pub(crate) fn decode(body: &[u8]) -> Result<Value, String> {
    let unknown = body.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message")?;
    let (mut type_meta, mut raw) = (&[][..], &[][..]);
    for (number, datum) in wire::read(unknown).map_err(|InvalidProtobuf| "the envelope is broken")? {
        match (number, datum) {
            (1, WireValue::Bytes(bytes)) => type_meta = bytes,
            (2, WireValue::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for (number, datum) in wire::read(type_meta).map_err(|InvalidProtobuf| "the type is broken")? {
        match number {
            1 => api_version = text(datum).map_err(|InvalidProtobuf| "the version is broken")?,
            2 => kind = text(datum).map_err(|InvalidProtobuf| "the kind is broken")?,
            _ => {}
        }
    }
    let message = fields::message_of(&api_version, &kind)
        .ok_or_else(|| format!("no kind {kind:?} is known for version {api_version:?}"))?;
    let mut object =
        message_to_json(message, raw, 0).map_err(|InvalidProtobuf| format!("the {kind} is broken"))?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

fn message_to_json(
    name: &'static str,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, InvalidProtobuf> {
    if depth > DEEPEST {
        return Err(InvalidProtobuf);
    }
    let mut object = Map::new();
    let mut reader = MessageReader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        // Fields of a newer Kubernetes are dropped, as in JSON.
        if let Some(field) = fields::field(name, number) {
            insert(&mut object, field, datum, depth)?;
        }
    }
    Ok(object)
}

/// Adds a decoded field to the object as Go's JSON does: `omitempty` omits zero values.
fn insert(
    object: &mut Map<String, Value>,
    field: &Field,
    datum: WireValue<'_>,
    depth: usize,
) -> Result<(), InvalidProtobuf> {
    match &field.kind {
        FieldType::Many(item) => {
            let item = to_json(item, datum, depth)?;
            if let Value::Array(items) = object.entry(field.name).or_insert_with(|| json!([])) {
                items.push(item);
            }
        }
        FieldType::Map(kind) => {
            let (key, value) = entry(kind, datum, depth)?;
            if let Value::Object(entries) = object.entry(field.name).or_insert_with(|| json!({})) {
                entries.insert(key, value);
            }
        }
        // An inline field, such as the source of a volume, has no name in JSON.
        FieldType::Message(message) if field.name.is_empty() => {
            object.extend(message_to_json(message, datum.bytes()?, depth + 1)?);
        }
        kind => {
            let value = to_json(kind, datum, depth)?;
            if !(value.is_null() || field.omit_zero && is_zero(&value)) {
                object.insert(field.name.into(), value);
            }
        }
    }
    Ok(())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn to_json(kind: &FieldType, datum: WireValue<'_>, depth: usize) -> Result<Value, InvalidProtobuf> {
    Ok(match kind {
        FieldType::Text => text(datum)?.into(),
        FieldType::Bytes => BASE64_STANDARD.encode(datum.bytes()?).into(),
        FieldType::Bool => (datum.integer()? != 0).into(),
        FieldType::Int(_) => datum.integer()?.into(),
        FieldType::Float => Number::from_f64(datum.float()?).ok_or(InvalidProtobuf)?.into(),
        FieldType::Message(message) => message_to_json(message, datum.bytes()?, depth + 1)?.into(),
        FieldType::Time { fraction } => time(datum.bytes()?, *fraction)?,
        FieldType::Quantity => {
            first(datum.bytes()?)?.map_or(Ok(json!("0")), |datum| text(datum).map(Value::from))?
        }
        FieldType::Either => either(datum.bytes()?)?,
        FieldType::Json => match first(datum.bytes()?)? {
            Some(raw) => serde_json::from_slice(raw.bytes()?).map_err(|_| InvalidProtobuf)?,
            None => Value::Null,
        },
        FieldType::List => {
            let items = wire::read(datum.bytes()?)?;
            items.into_iter().map(|(_, item)| text(item).map(Value::from)).collect::<Result<_, _>>()?
        }
        // Kubernetes has no lists of lists and no maps of maps.
        FieldType::Many(_) | FieldType::Map(_) => return Err(InvalidProtobuf),
    })
}

fn text(datum: WireValue<'_>) -> Result<String, InvalidProtobuf> {
    String::from_utf8(datum.bytes()?.to_vec()).map_err(|_| InvalidProtobuf)
}

/// Value of the first field of a message that has only one.
fn first(bytes: &[u8]) -> Result<Option<WireValue<'_>>, InvalidProtobuf> {
    Ok(wire::read(bytes)?.into_iter().find_map(|(number, datum)| (number == 1).then_some(datum)))
}

/// One entry of a map.
fn entry(kind: &FieldType, datum: WireValue<'_>, depth: usize) -> Result<(String, Value), InvalidProtobuf> {
    let (mut key, mut value) = (String::new(), Value::Null);
    for (number, datum) in wire::read(datum.bytes()?)? {
        match number {
            1 => key = text(datum)?,
            2 => value = to_json(kind, datum, depth)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// An IntOrString: its first field selects one of the others.
fn either(bytes: &[u8]) -> Result<Value, InvalidProtobuf> {
    let (mut is_text, mut number, mut word) = (false, 0, String::new());
    for (field, datum) in wire::read(bytes)? {
        match field {
            1 => is_text = datum.integer()? == 1,
            2 => number = datum.integer()?,
            3 => word = text(datum)?,
            _ => {}
        }
    }
    Ok(if is_text { word.into() } else { number.into() })
}

/// Null for an empty message.
fn time(bytes: &[u8], fraction: bool) -> Result<Value, InvalidProtobuf> {
    let (mut seconds, mut nanoseconds) = (None, 0);
    for (field, datum) in wire::read(bytes)? {
        match field {
            1 => seconds = Some(datum.integer()?),
            2 => nanoseconds = i32::try_from(datum.integer()?).map_err(|_| InvalidProtobuf)?,
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    let time = Timestamp::new(seconds, nanoseconds).map_err(|_| InvalidProtobuf)?;
    let format = if fraction { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(time.strftime(format).to_string().into())
}

#[cfg(test)]
mod tests;
