//! Credentials as loaded from files and the environment: API server, proxy and user.

use http::Uri;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use spindrift_process::{
    config::Env,
    proxy::{Proxies, Proxy, ProxyError, Speaks},
};

use super::{error::LoginError, stamps::Stamps};
use crate::client::{
    credentials::{ApiOptions, ConnectError, Credentials},
    in_cluster::{CA_FILE, InCluster, TOKEN_FILE},
    kubeconfig::{AuthInfo, Cluster, ExecCluster, Kubeconfig, KubeconfigError},
};

/// Loaded credentials. The files of the user are read later, by [`super::user::User`].
pub(crate) struct LoadedCredentials {
    pub(crate) server: Uri,
    /// DER; the authorities of the system if none.
    pub(crate) authorities: Option<Vec<Vec<u8>>>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) user: AuthInfo,
    pub(crate) stamps: Stamps,
}

const NOT_AN_ADDRESS: LoginError =
    LoginError::Malformed { what: "server", expected: "an address of https:// or http://" };

// === impl LoadedCredentials ===

impl LoadedCredentials {
    /// Reads files and the environment; runs no plugin and sends nothing.
    pub(crate) fn of(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let (mut loaded, proxy_url) = match credentials {
            Credentials::ServiceAccount => (service_account()?, None),
            Credentials::Kubeconfig { path, context } => {
                let stamps = Stamps::of(path);
                let read = Kubeconfig::read_from(path);
                kubeconfig(read, &credentials.source_name(), context.as_deref(), stamps)?
            }
            Credentials::Contents { kubeconfig: text, context } => {
                let read = Kubeconfig::from_yaml(text.as_str());
                kubeconfig(read, &credentials.source_name(), context.as_deref(), Stamps::default())?
            }
        };
        if loaded.authorities.as_ref().is_some_and(Vec::is_empty) {
            return Err(ConnectError::NoAuthority { origin: credentials.origin() });
        }
        if !matches!(loaded.server.scheme_str(), Some("https" | "http")) {
            return Err(ConnectError::Unusable {
                origin: credentials.origin(),
                source: Box::new(NOT_AN_ADDRESS),
            });
        }
        loaded.insecure |= options.insecure;
        if !options.no_proxy {
            let proxy = proxy_to(&loaded.server, proxy_url.as_deref());
            loaded.proxy = proxy.map_err(|error| ConnectError::Unusable {
                origin: credentials.origin(),
                source: Box::new(error.into()),
            })?;
        }
        Ok(loaded)
    }
}

fn service_account() -> Result<LoadedCredentials, ConnectError> {
    // Kubernetes may rotate the certificate authority like the token.
    let stamps = Stamps::of(CA_FILE);
    let InCluster { server, certificate_authority } =
        InCluster::read().map_err(ConnectError::ServiceAccount)?;
    Ok(LoadedCredentials {
        server,
        authorities: Some(certificates(&certificate_authority)),
        insecure: false,
        server_name: None,
        proxy: None,
        user: AuthInfo { token_file: Some(TOKEN_FILE.to_owned()), ..AuthInfo::default() },
        stamps,
    })
}

/// Loads a context; also returns the proxy that its cluster names.
fn kubeconfig(
    read: Result<Kubeconfig, KubeconfigError>,
    source_name: &str,
    context: Option<&str>,
    mut stamps: Stamps,
) -> Result<(LoadedCredentials, Option<String>), ConnectError> {
    let failed = |source| match source {
        KubeconfigError::Parse(error) => {
            let line = error.location().map_or(0, |location| location.line());
            ConnectError::Unreadable { kubeconfig: source_name.to_owned(), line }
        }
        source => ConnectError::Kubeconfig { kubeconfig: source_name.to_owned(), source },
    };
    let file = read.map_err(failed)?;
    let (cluster, user) = select(&file, context).map_err(|error| match error {
        ContextError::Kubeconfig(source) => failed(source),
        ContextError::NoSuchUser(user) => {
            ConnectError::NoSuchUser { kubeconfig: source_name.to_owned(), user }
        }
    })?;
    cluster.certificate_authority.iter().for_each(|file| stamps.add(file));
    // Plugins receive this form of a cluster. It contains the authorities from the data or the file.
    let exec_cluster = ExecCluster::of(&cluster).map_err(failed)?;
    let authorities = exec_cluster.certificate_authority_data.as_deref().map(certificates);
    let server = exec_cluster.server.clone().ok_or(KubeconfigError::MissingClusterUrl);
    let server = server.and_then(|server| server.parse().map_err(KubeconfigError::ParseClusterUrl));
    let mut user = user.unwrap_or_default();
    if let Some(plugin) = user.exec.as_mut().filter(|plugin| plugin.provide_cluster_info) {
        plugin.cluster = Some(exec_cluster);
    }
    let loaded = LoadedCredentials {
        server: server.map_err(failed)?,
        authorities,
        insecure: cluster.insecure_skip_tls_verify.unwrap_or(false),
        server_name: cluster.tls_server_name.filter(|name| !name.is_empty()),
        proxy: None,
        user,
        stamps,
    };
    Ok((loaded, cluster.proxy_url.filter(|url| !url.is_empty())))
}

enum ContextError {
    Kubeconfig(KubeconfigError),
    NoSuchUser(String),
}

/// Returns the cluster and the user of a context, by default of the current one.
fn select(file: &Kubeconfig, context: Option<&str>) -> Result<(Cluster, Option<AuthInfo>), ContextError> {
    let Kubeconfig { current_context, contexts, clusters, users, .. } = file;
    let current = current_context.as_deref().filter(|name| !name.is_empty());
    let name = context.or(current).ok_or(ContextError::Kubeconfig(KubeconfigError::CurrentContextNotSet))?;
    let context = contexts.iter().find(|named| named.name == name).and_then(|named| named.context.as_ref());
    let missing = || ContextError::Kubeconfig(KubeconfigError::LoadContext(name.to_owned()));
    let context = context.ok_or_else(missing)?;
    let cluster = clusters.iter().find(|named| named.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.clone());
    let missing = || ContextError::Kubeconfig(KubeconfigError::LoadClusterOfContext(context.cluster.clone()));
    let cluster = cluster.ok_or_else(missing)?;
    // Without this error the requests would be anonymous, and the 401 of the API server would not explain why.
    let user = match context.user.as_ref().filter(|user| !user.is_empty()) {
        None => None,
        Some(user) => {
            let named = users.iter().find(|named| named.name == *user);
            named.ok_or_else(|| ContextError::NoSuchUser(user.clone()))?.user.clone()
        }
    };
    Ok((cluster, user))
}

/// Parses PEM; other entries than certificates are skipped.
fn certificates(pem: &[u8]) -> Vec<Vec<u8>> {
    CertificateDer::pem_slice_iter(pem).filter_map(|found| Some(found.ok()?.to_vec())).collect()
}

/// Returns the proxy: that of the kubeconfig is meant for this API server; those of the environment have exceptions.
fn proxy_to(server: &Uri, named: Option<&str>) -> Result<Option<Proxy>, ProxyError> {
    if let Some(url) = named {
        return Proxy::parse("proxy-url of the kubeconfig", url).map(Some);
    }
    let (speaks, usual_port) = match server.scheme_str() {
        Some("http") => (Speaks::Http, 80),
        _ => (Speaks::Https, 443),
    };
    let host = server.host().unwrap_or_default();
    Proxies::of(&Env::capture()).to(host, server.port_u16().unwrap_or(usual_port), speaks)
}
