//! Serialisers for secrets, for the effective configuration that is logged at start.

use serde::Serializer;

/// Text that replaces a secret.
const REDACTED: &str = "<redacted>";

/// Writes a marker in place of a secret: `#[serde(serialize_with = "redact::secret")]`.
pub fn secret<T, S: Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(REDACTED)
}

/// Writes a marker in place of an optional secret, and nothing where there is none.
pub fn optional<T, S: Serializer>(secret: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(_) => serializer.serialize_str(REDACTED),
        None => serializer.serialize_none(),
    }
}
