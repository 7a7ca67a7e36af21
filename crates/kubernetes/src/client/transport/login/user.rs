//! Authentication headers and client certificate of a user, and impersonation.

use std::{fs, path::PathBuf};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};

use super::{error::LoginError, loaded::LoadedCredentials, plugin::Issued, stamps::Stamps};
use crate::client::{kubeconfig::AuthInfo, transport::server::ClientIdentity};

/// Credentials of a user.
pub(super) struct User {
    /// `Authorization` and impersonation.
    pub(super) headers: HeaderMap,
    pub(super) identity: Option<ClientIdentity>,
}

const CERTIFICATE: &str = "client certificate";
const KEY: &str = "client key";
const TOKEN: &str = "token";

// === impl User ===

impl User {
    /// Reads the files that the credentials name, and adds their stamps.
    pub(super) fn read(
        loaded: &mut LoadedCredentials,
        impersonate: Option<&str>,
    ) -> Result<Self, LoginError> {
        let LoadedCredentials { user, stamps, .. } = loaded;
        if let Some(provider) = &user.auth_provider {
            return Err(LoginError::AuthProvider { name: provider.name.clone() });
        }
        let mut headers = match impersonate {
            Some(name) => impersonate_service_account(name)?,
            None => impersonate_configured(user)?,
        };
        if let Some(authorization) = authorization(user, stamps)? {
            headers.insert(header::AUTHORIZATION, authorization);
        }
        let certificate = pem(
            CERTIFICATE,
            user.client_certificate_data.as_deref(),
            user.client_certificate.as_ref(),
            stamps,
        )?;
        let key = user.client_key_data.as_ref().map(SecretString::expose_secret);
        let key = pem(KEY, key, user.client_key.as_ref(), stamps)?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(ClientIdentity::parse(&certificate, &key)?),
            (None, None) => None,
            (Some(_), None) => return Err(LoginError::Alone { found: CERTIFICATE, missing: KEY }),
            (None, Some(_)) => return Err(LoginError::Alone { found: KEY, missing: CERTIFICATE }),
        };
        Ok(Self { headers, identity })
    }

    /// Adds the credentials that a plugin has printed.
    pub(super) fn add_issued(&mut self, issued: Issued) -> Result<(), LoginError> {
        let Issued { token, certificate, expiry: _ } = issued;
        if let Some(token) = token {
            self.headers.insert(header::AUTHORIZATION, secret_header("Bearer ", token.expose_secret())?);
        }
        if let Some((certificate, key)) = certificate {
            self.identity =
                Some(ClientIdentity::parse(certificate.as_bytes(), key.expose_secret().as_bytes())?);
        }
        Ok(())
    }
}

/// Returns the `Authorization` header. A token file takes precedence over a token, since the file is rotated.
fn authorization(user: &AuthInfo, stamps: &mut Stamps) -> Result<Option<HeaderValue>, LoginError> {
    if let Some(file) = &user.token_file {
        let token = read(TOKEN, file.into(), stamps)?;
        let token = String::from_utf8(token)
            .map_err(|_| LoginError::Malformed { what: TOKEN, expected: "fit for a header" })?;
        return secret_header("Bearer ", token.trim()).map(Some);
    }
    if let Some(token) = &user.token {
        return secret_header("Bearer ", token.expose_secret().trim()).map(Some);
    }
    let Some(name) = &user.username else { return Ok(None) };
    let password = user.password.as_ref().map_or("", |password| password.expose_secret());
    secret_header("Basic ", &BASE64_STANDARD.encode(format!("{name}:{password}"))).map(Some)
}

/// Impersonates by user name only: Kubernetes itself adds the groups of service accounts, and then requires permission to
/// impersonate that account only, not each of its groups.
fn impersonate_service_account(name: &str) -> Result<HeaderMap, LoginError> {
    let wrong = || LoginError::Impersonate { found: name.to_owned() };
    let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let is_name = |text: &str| !text.is_empty() && !text.contains([':', '/', ' ']);
    account.filter(|(namespace, name)| is_name(namespace) && is_name(name)).ok_or_else(wrong)?;
    let value = HeaderValue::from_str(name).map_err(|_| wrong())?;
    Ok(HeaderMap::from_iter([(HeaderName::from_static("impersonate-user"), value)]))
}

/// Impersonates by `as`, `as-uid`, `as-groups` and `as-user-extra` of a kubeconfig.
fn impersonate_configured(user: &AuthInfo) -> Result<HeaderMap, LoginError> {
    let malformed =
        || LoginError::Malformed { what: "user to impersonate (as)", expected: "fit for a header" };
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| malformed())?;
        headers.append(name, HeaderValue::from_str(value).map_err(|_| malformed())?);
        Ok::<_, LoginError>(())
    };
    if let Some(name) = &user.impersonate {
        add("impersonate-user", name)?;
    }
    if let Some(uid) = &user.impersonate_uid {
        add("impersonate-uid", uid)?;
    }
    for group in user.impersonate_groups.iter().flatten() {
        add("impersonate-group", group)?;
    }
    for (key, values) in user.impersonate_user_extra.iter().flatten() {
        for value in values {
            add(&format!("impersonate-extra-{}", key.to_ascii_lowercase()), value)?;
        }
    }
    Ok(headers)
}

fn secret_header(scheme: &str, secret: &str) -> Result<HeaderValue, LoginError> {
    let mut value = HeaderValue::from_str(&format!("{scheme}{secret}"))
        .map_err(|_| LoginError::Malformed { what: TOKEN, expected: "fit for a header" })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns PEM from the data or the file; as in kubectl, data takes precedence.
fn pem(
    what: &'static str,
    data: Option<&str>,
    file: Option<&String>,
    stamps: &mut Stamps,
) -> Result<Option<Vec<u8>>, LoginError> {
    match (data, file) {
        (Some(data), _) => {
            let decoded = BASE64_STANDARD.decode(data);
            decoded.map(Some).map_err(|_| LoginError::Malformed { what, expected: "base64" })
        }
        (None, Some(file)) => read(what, file.into(), stamps).map(Some),
        (None, None) => Ok(None),
    }
}

fn read(what: &'static str, path: PathBuf, stamps: &mut Stamps) -> Result<Vec<u8>, LoginError> {
    stamps.add(&path);
    fs::read(&path).map_err(|source| LoginError::File { what, path, source })
}

// === impl ClientIdentity ===

impl ClientIdentity {
    fn parse(certificate: &[u8], key: &[u8]) -> Result<Self, LoginError> {
        let malformed = |what| LoginError::Malformed { what, expected: "PEM" };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| malformed(CERTIFICATE))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| malformed(KEY))?;
        Ok(Self { chain, key })
    }
}
