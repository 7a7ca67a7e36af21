//! Private keys under a password: PKCS#8 as `openssl pkcs8 -topk8` and `openssl genpkey` write it.
//!
//! ```text
//! EncryptedPrivateKeyInfo = { { PBES2, { { PBKDF2, { salt, iterations, … } }, { AES-CBC, iv } } }, ciphertext }
//! ```

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
/// The last byte is the hash: 7 is SHA-1, 9 is SHA-256.
const HMAC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
/// The last byte is the length of the key.
const AES_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];

const SEQUENCE: u8 = 0x30;
const OBJECT_ID: u8 = 0x06;
const OCTETS: u8 = 0x04;
const INTEGER: u8 = 0x02;

/// More would be an attack on the start of the process rather than a protection.
const MOST_ITERATIONS: u32 = 10_000_000;

const UNSUPPORTED: &str = "only PKCS#8 with PBKDF2 and AES-CBC can be opened; convert it with `openssl pkcs8 -topk8 -v2 aes-256-cbc`";
const WRONG_PASSWORD: &str = "the password does not open it";

/// Whether the key is encrypted: as PKCS#8, or in the older form of OpenSSL.
pub(super) fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains(BEGIN) || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// Opens the key; an error ends the sentence "it is encrypted, and …".
pub(super) fn open(text: &[u8], password: Option<&str>) -> Result<PrivateKeyDer<'static>, &'static str> {
    let password = password.ok_or("no password is set")?;
    let text = String::from_utf8_lossy(text);
    let armoured = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).ok_or(UNSUPPORTED)?.0;
    let bare: String = armoured.split_whitespace().collect();
    let der = STANDARD.decode(bare).map_err(|_| "its base64 is broken")?;
    let EncryptionParameters { hash, salt, iterations, cipher, key_length, iv, ciphertext } =
        EncryptionParameters::read(&der).ok_or(UNSUPPORTED)?;

    let mut key = vec![0; key_length];
    pbkdf2::derive(hash, iterations, salt, password.as_bytes(), &mut key);
    let key = UnboundCipherKey::new(cipher, &key).map_err(|_| UNSUPPORTED)?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).map_err(|_| UNSUPPORTED)?;
    let mut plain = ciphertext.to_vec();
    let iv = DecryptionContext::Iv128(FixedLength::from(iv));
    let plain = key.decrypt(&mut plain, iv).map_err(|_| WRONG_PASSWORD)?;
    // A wrong password may leave a valid padding by chance; then the content is no key.
    if Der(plain).next(SEQUENCE).is_none() {
        return Err(WRONG_PASSWORD);
    }
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(plain.to_vec())))
}

/// Parameters for decrypting a key.
struct EncryptionParameters<'d> {
    hash: pbkdf2::Algorithm,
    salt: &'d [u8],
    iterations: NonZeroU32,
    cipher: &'static Algorithm,
    key_length: usize,
    iv: [u8; 16],
    ciphertext: &'d [u8],
}

/// DER that is read from its beginning.
struct Der<'d>(&'d [u8]);

// === impl EncryptionParameters ===

impl<'d> EncryptionParameters<'d> {
    fn read(der: &'d [u8]) -> Option<Self> {
        let mut key = Der(Der(der).next(SEQUENCE)?);
        let mut algorithm = Der(key.next(SEQUENCE)?);
        let ciphertext = key.next(OCTETS)?;
        if algorithm.next(OBJECT_ID)? != PBES2 {
            return None;
        }
        let mut schemes = Der(algorithm.next(SEQUENCE)?);
        let mut derivation = Der(schemes.next(SEQUENCE)?);
        let mut encryption = Der(schemes.next(SEQUENCE)?);

        if derivation.next(OBJECT_ID)? != PBKDF2 {
            return None;
        }
        let mut derivation = Der(derivation.next(SEQUENCE)?);
        let salt = derivation.next(OCTETS)?;
        let iterations =
            number(derivation.next(INTEGER)?).filter(|number| number.get() <= MOST_ITERATIONS)?;
        // The length of the key may be repeated here; the cipher has its own.
        derivation.next(INTEGER);
        let hash = match derivation.next(SEQUENCE) {
            None => pbkdf2::PBKDF2_HMAC_SHA1,
            Some(hash) => match Der(hash).next(OBJECT_ID)?.strip_prefix(HMAC)? {
                [0x07] => pbkdf2::PBKDF2_HMAC_SHA1,
                [0x09] => pbkdf2::PBKDF2_HMAC_SHA256,
                [0x0a] => pbkdf2::PBKDF2_HMAC_SHA384,
                [0x0b] => pbkdf2::PBKDF2_HMAC_SHA512,
                _ => return None,
            },
        };
        let (cipher, key_length) = match encryption.next(OBJECT_ID)?.strip_prefix(AES_CBC)? {
            [0x02] => (&AES_128, 16),
            [0x16] => (&AES_192, 24),
            [0x2a] => (&AES_256, 32),
            _ => return None,
        };
        let iv = encryption.next(OCTETS)?.try_into().ok()?;
        Some(Self { hash, salt, iterations, cipher, key_length, iv, ciphertext })
    }
}

/// A positive number of at most four bytes.
fn number(bytes: &[u8]) -> Option<NonZeroU32> {
    let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
    if bytes.len() > 4 {
        return None;
    }
    NonZeroU32::new(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

// === impl Der ===

impl<'d> Der<'d> {
    /// Takes the next element, if it has this tag; else nothing is taken.
    fn next(&mut self, tag: u8) -> Option<&'d [u8]> {
        let (&found, rest) = self.0.split_first()?;
        if found != tag {
            return None;
        }
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(short), rest),
            long @ 0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long - 0x80))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `openssl genpkey -algorithm ed25519 | openssl pkcs8 -topk8 -v2 aes-256-cbc -passout pass:hunter2`, and with
    /// `-v2 aes-128-cbc -v2prf hmacWithSHA1`.
    const KEYS: [&str; 2] =
        [include_str!("encrypted_key/aes256.pem"), include_str!("encrypted_key/aes128.pem")];

    #[test]
    fn a_key_under_a_password_is_opened_by_it_and_by_no_other() {
        for pem in KEYS {
            assert!(is_encrypted(pem.as_bytes()));
            let key = open(pem.as_bytes(), Some("hunter2")).unwrap();
            rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).unwrap();
            assert_eq!(open(pem.as_bytes(), Some("hunter3")).unwrap_err(), WRONG_PASSWORD);
            assert_eq!(open(pem.as_bytes(), None).unwrap_err(), "no password is set");
        }
    }

    #[test]
    fn other_ciphers_are_refused_with_what_to_do() {
        // `openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`
        let old = include_str!("encrypted_key/old.pem");
        assert_eq!(open(old.as_bytes(), Some("hunter2")).unwrap_err(), UNSUPPORTED);
        let legacy = b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n";
        assert_eq!(open(legacy, Some("hunter2")).unwrap_err(), UNSUPPORTED);
    }
}
