//! Oddities of a manifest: mistakes of people, and fields that an API server refuses.

use serde_json::{Value, json};

use crate::{decisions::Decisions, kinds::Kind};

/// Oddity of the second manifest of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// It is a later version of the first.
    Later,
    /// It is the first.
    Same,
    /// Immutable fields change.
    Careless,
    /// A field that does not exist.
    Unknown,
    /// A text where something else is expected.
    WrongType,
    /// A field that is explicitly null.
    Null,
    /// A list or a map that is explicitly empty.
    Empty,
    /// An annotation so long that it does not fit into last-applied.
    TooLong,
}

/// In a hundred cases; the rest is [`Oddity::Later`].
const SHARES: [(Oddity, i64); 7] = [
    (Oddity::Same, 4),
    (Oddity::Careless, 6),
    (Oddity::Unknown, 3),
    (Oddity::WrongType, 4),
    (Oddity::Null, 6),
    (Oddity::Empty, 6),
    (Oddity::TooLong, 1),
];

// === impl Oddity ===

impl Oddity {
    pub(crate) fn of(decisions: &Decisions) -> Self {
        let mut left = decisions.number("twist", 0..100);
        for (oddity, share) in SHARES {
            left -= share;
            if left < 0 {
                return oddity;
            }
        }
        Self::Later
    }

    /// The second manifest.
    pub(crate) fn second(self, kind: &Kind, case: u64, decisions: &Decisions) -> Value {
        let later = decisions.version(1);
        let mut manifest = match self {
            Self::Same => kind.manifest(case, decisions),
            Self::Careless => kind.manifest(case, &later.careless()),
            _ => kind.manifest(case, &later),
        };
        let place = decisions.number("place", 0..1 << 30).unsigned_abs();
        match self {
            Self::Later | Self::Same | Self::Careless => {}
            Self::Unknown => {
                if let Some(object) = pick(&mut manifest, place, Value::is_object) {
                    object["parity"] = json!({ "unknown": true });
                }
            }
            Self::WrongType => {
                if let Some(value) =
                    pick(&mut manifest, place, |value| value.is_number() || value.is_boolean())
                {
                    *value = "many".into();
                }
            }
            Self::Null => {
                if let Some(value) = pick(&mut manifest, place, |value| !value.is_null()) {
                    *value = Value::Null;
                }
            }
            Self::Empty => {
                let is_full = |value: &Value| {
                    value.as_array().is_some_and(|list| !list.is_empty())
                        || value.as_object().is_some_and(|map| !map.is_empty())
                };
                if let Some(value) = pick(&mut manifest, place, is_full) {
                    *value = if value.is_array() { json!([]) } else { json!({}) };
                }
            }
            Self::TooLong => manifest["metadata"]["annotations"] = json!({ "long": "<".repeat(45_000) }),
        }
        manifest
    }
}

/// One of the places below the top level that fit; fields that identify the object do not.
fn pick(manifest: &mut Value, place: u64, fits: impl Fn(&Value) -> bool) -> Option<&mut Value> {
    let mut found = Vec::new();
    collect(manifest, "", &fits, &mut found);
    let index = usize::try_from(place).ok()? % found.len().max(1);
    manifest.pointer_mut(found.get(index)?)
}

fn collect(value: &Value, pointer: &str, fits: &impl Fn(&Value) -> bool, found: &mut Vec<String>) {
    const IDENTITY: [&str; 5] =
        ["/apiVersion", "/kind", "/metadata", "/metadata/name", "/metadata/namespace"];
    if !pointer.is_empty() && !IDENTITY.contains(&pointer) && fits(value) {
        found.push(pointer.to_owned());
    }
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(value, &format!("{pointer}/{key}"), fits, found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, &format!("{pointer}/{index}"), fits, found);
            }
        }
        _ => {}
    }
}
