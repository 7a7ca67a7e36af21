//! Fields of Kubernetes' types: JSON name, protobuf number and type.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    /// Name in JSON; empty for an inline field, whose fields belong to its parent.
    pub(crate) name: &'static str,
    /// Set if JSON omits a zero value.
    pub(crate) omit_zero: bool,
    pub(crate) kind: FieldType,
}

/// Type of a field.
#[derive(Debug)]
pub(crate) enum FieldType {
    Text,
    Bytes,
    Bool,
    /// With the name of the type in Go.
    Int(&'static str),
    Float,
    Message(&'static str),
    Many(Box<FieldType>),
    /// With string keys.
    Map(Box<FieldType>),
    Time {
        fraction: bool,
    },
    Quantity,
    /// IntOrString.
    Either,
    /// Bytes that contain JSON.
    Json,
    /// A message that consists of one list of strings.
    List,
}

#[derive(Default)]
struct FieldTable {
    /// By version and kind.
    kinds: HashMap<(&'static str, &'static str), &'static str>,
    /// By message and number.
    fields: HashMap<(&'static str, u64), Field>,
    /// The numbers of fields, by message and name in JSON.
    names: HashMap<(&'static str, &'static str), u64>,
    /// The messages of inline fields, by message.
    inline: HashMap<&'static str, Vec<&'static str>>,
}

/// Printed by `testenv fields`; the contract suite compares them.
const TEXT: &str = include_str!("fields.txt");

static TABLE: LazyLock<FieldTable> = LazyLock::new(|| FieldTable::parse(TEXT));

/// Message that encodes a kind.
pub(crate) fn message_of(api_version: &str, kind: &str) -> Option<&'static str> {
    // Every group has its own DeleteOptions, all equal.
    let api_version = if kind == "DeleteOptions" { "v1" } else { api_version };
    TABLE.kinds.get(&(api_version, kind)).copied()
}

pub(crate) fn field(message: &'static str, number: u64) -> Option<&'static Field> {
    TABLE.fields.get(&(message, number))
}

/// Field of this JSON name, also in an inline message.
pub(crate) fn named(message: &'static str, name: &str) -> Option<&'static Field> {
    if let Some(number) = TABLE.names.get(&(message, name)) {
        return field(message, *number);
    }
    TABLE.inline.get(message)?.iter().find_map(|inline| named(inline, name))
}

// === impl FieldTable ===

impl FieldTable {
    fn parse(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            match words.next() {
                Some("kind") => {
                    if let (Some(version), Some(kind), Some(message)) =
                        (words.next(), words.next(), words.next())
                    {
                        table.kinds.insert((version, kind), message);
                    }
                }
                Some(message) => {
                    for (number, field) in words.filter_map(Field::parse) {
                        match &field.kind {
                            FieldType::Message(inline) if field.name.is_empty() => {
                                table.inline.entry(message).or_default().push(*inline);
                            }
                            _ => drop(table.names.insert((message, field.name), number)),
                        }
                        table.fields.insert((message, number), field);
                    }
                }
                None => {}
            }
        }
        table
    }
}

// === impl Field ===

impl Field {
    /// Parses `3:restartPolicy?:text`.
    fn parse(word: &'static str) -> Option<(u64, Self)> {
        let (number, rest) = word.split_once(':')?;
        let (name, kind) = rest.split_once(':')?;
        let (name, omit_zero) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
        Some((number.parse().ok()?, Self { name, omit_zero, kind: FieldType::parse(kind) }))
    }
}

// === impl FieldType ===

impl FieldType {
    fn parse(word: &'static str) -> Self {
        if let Some(item) = word.strip_prefix('*') {
            return Self::Many(Box::new(Self::parse(item)));
        }
        if let Some(value) = word.strip_prefix('%') {
            return Self::Map(Box::new(Self::parse(value)));
        }
        match word {
            "text" => Self::Text,
            "bytes" => Self::Bytes,
            "bool" => Self::Bool,
            "int" | "int32" | "int64" => Self::Int(word),
            "float" => Self::Float,
            "time" => Self::Time { fraction: false },
            "microtime" => Self::Time { fraction: true },
            "quantity" => Self::Quantity,
            "either" => Self::Either,
            "json" => Self::Json,
            "list" => Self::List,
            message => Self::Message(message),
        }
    }
}
