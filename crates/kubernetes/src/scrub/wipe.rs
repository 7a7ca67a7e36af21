//! Overwriting of memory that held secrets.

use bytes::Bytes;
use zeroize::Zeroize;

/// Overwrites bytes, unless others still hold them.
///
/// The buffer of the connection cannot be reached from here; the next bytes overwrite it.
pub(crate) fn wipe(bytes: Bytes) {
    if let Ok(mut bytes) = bytes.try_into_mut() {
        bytes.as_mut().zeroize();
    }
}
