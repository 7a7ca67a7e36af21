//! Overwriting of memory that held secrets.

use bytes::Bytes;
use zeroize::Zeroize;

/// Wipes bytes that nobody else holds.
///
/// What the connection still holds cannot be reached from here; it is overwritten by what arrives next.
pub(crate) fn wipe(bytes: Bytes) {
    if let Ok(mut bytes) = bytes.try_into_mut() {
        bytes.as_mut().zeroize();
    }
}
