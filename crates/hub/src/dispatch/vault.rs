//! Encryption of requests and answers in the store: they may contain Secrets.

use std::{fmt, io, path::Path};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest, rand,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use spindrift_model::OperationId;

use crate::hex::hex;

/// AES-256-GCM with one key. The id of the operation or task and the item are authenticated, so that no row can be swapped
/// for another.
pub struct Vault {
    key: LessSafeKey,
    id: String,
    lasting: bool,
}

/// Error of the encryption key.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("kubesvc.operations.encryption.{setting}: expected 32 bytes in base64")]
    Malformed { setting: &'static str },
    #[error("kubesvc.operations.encryption.keyFile: read {file}")]
    Read { file: String, source: io::Error },
    #[error("keep a key beside the database in {file}")]
    Create { file: String, source: io::Error },
    #[error("the system gives no random numbers")]
    Random,
}

/// Encrypted item of an operation or a task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SealedItem {
    /// Request of an operation.
    Body,
    /// Piece of an answer that begins at this offset.
    Answer(u64),
    /// Request of a task.
    Task,
    /// Values that an attempt at a task has read from clusters.
    Learned { attempt: u32, entry: u32 },
}

const KEY_LEN: usize = 32;
/// Enough to distinguish keys; it reveals nothing of the key.
const KEY_ID_LEN: usize = 8;

// === impl Vault ===

impl Vault {
    /// Vault with the operator's key, in base64.
    pub fn with_key(setting: &'static str, text: &str) -> Result<Self, VaultError> {
        let bytes = BASE64_STANDARD.decode(text.trim()).ok();
        let bytes = bytes.and_then(|bytes| <[u8; KEY_LEN]>::try_from(bytes).ok());
        bytes.map(|bytes| Self::new(&bytes, true)).ok_or(VaultError::Malformed { setting })
    }

    /// Vault with the key in a file.
    pub fn with_file(file: &Path) -> Result<Self, VaultError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| VaultError::Read { file: file.display().to_string(), source })?;
        Self::with_key("keyFile", &text)
    }

    /// Vault with the key in a file that only this user can read; it is created if it does not exist.
    pub fn beside(file: &Path) -> Result<Self, VaultError> {
        use std::{io::Write, os::unix::fs::OpenOptionsExt};
        let failed = |source| VaultError::Create { file: file.display().to_string(), source };
        let text = BASE64_STANDARD.encode(random()?);
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
            Ok(mut created) => {
                created.write_all(text.as_bytes()).and_then(|()| created.sync_all()).map_err(failed)?;
                Self::with_key("keyFile", &text)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::with_file(file),
            Err(error) => Err(failed(error)),
        }
    }

    /// Vault with a key that ends with the process.
    pub fn fleeting() -> Result<Self, VaultError> {
        Ok(Self::new(&random()?, false))
    }

    fn new(key: &[u8; KEY_LEN], lasting: bool) -> Self {
        let unbound = UnboundKey::new(&AES_256_GCM, key).expect("32 bytes are a key of AES-256");
        let digest = digest::digest(&digest::SHA256, key);
        let (id, _) = digest.as_ref().split_at(KEY_ID_LEN);
        Self { key: LessSafeKey::new(unbound), id: hex(id), lasting }
    }

    /// Id of the key, which reveals nothing of it.
    pub fn key_id(&self) -> &str {
        &self.id
    }

    /// Whether other hubs, and this one after a restart, have the same key.
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }

    pub(crate) fn seal(
        &self,
        operation: OperationId,
        item: SealedItem,
        plain: &[u8],
    ) -> Result<Bytes, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| VaultError::Random)?;
        let mut sealed = plain.to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(item.of(operation)),
                &mut sealed,
            )
            .map_err(|_| VaultError::Random)?;
        sealed.extend_from_slice(&nonce);
        Ok(sealed.into())
    }

    /// Decrypts an item; none if it was encrypted with another key, or as another item.
    pub(crate) fn open(&self, operation: OperationId, item: SealedItem, sealed: &[u8]) -> Option<Bytes> {
        let (sealed, nonce) = sealed.split_at_checked(sealed.len().checked_sub(NONCE_LEN)?)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let plain = self.key.open_in_place(nonce, Aad::from(item.of(operation)), &mut bytes).ok()?;
        let length = plain.len();
        bytes.truncate(length);
        Some(bytes.into())
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("id", &self.id).field("lasting", &self.lasting).finish_non_exhaustive()
    }
}

// === impl SealedItem ===

impl SealedItem {
    fn of(self, operation: OperationId) -> String {
        match self {
            Self::Body => format!("{operation}/body"),
            Self::Answer(offset) => format!("{operation}/answer/{offset}"),
            Self::Task => format!("{operation}/task"),
            Self::Learned { attempt, entry } => format!("{operation}/learned/{attempt}/{entry}"),
        }
    }
}

fn random() -> Result<[u8; KEY_LEN], VaultError> {
    let mut key = [0; KEY_LEN];
    rand::fill(&mut key).map_err(|_| VaultError::Random)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_decrypted_as_itself_only() {
        let (vault, other) = (Vault::fleeting().unwrap(), Vault::fleeting().unwrap());
        let operation = OperationId::fresh();
        let sealed = vault.seal(operation, SealedItem::Answer(7), b"canary").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"canary"));
        assert_eq!(vault.open(operation, SealedItem::Answer(7), &sealed).as_deref(), Some(&b"canary"[..]));
        assert_eq!(vault.open(operation, SealedItem::Answer(8), &sealed), None);
        assert_eq!(vault.open(operation, SealedItem::Body, &sealed), None);
        assert_eq!(vault.open(OperationId::fresh(), SealedItem::Answer(7), &sealed), None);
        assert_eq!(other.open(operation, SealedItem::Answer(7), &sealed), None);
        assert_eq!(vault.open(operation, SealedItem::Answer(7), b"short"), None);
        assert_ne!(vault.key_id(), other.key_id());
    }

    #[test]
    fn a_key_beside_the_database_is_created_once_and_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let directory = spindrift_testkit::scratch("vault").unwrap();
        let file = directory.path().join("hub.db.key");
        let made = Vault::beside(&file).unwrap();
        let read = Vault::beside(&file).unwrap();
        assert_eq!(made.key_id(), read.key_id());
        assert!(made.is_lasting() && read.is_lasting());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_invalid_key_names_its_setting() {
        for text in ["", "AAAA", "not base64!"] {
            let error = Vault::with_key("key", text).unwrap_err().to_string();
            assert_eq!(error, "kubesvc.operations.encryption.key: expected 32 bytes in base64");
        }
    }
}
