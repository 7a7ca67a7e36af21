//! One reading of credentials: which API server, which way to it, and whom to be there.

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

/// What credentials say. Files that only the user needs are read by [`super::user::User`].
pub(crate) struct Reading {
    pub(crate) server: Uri,
    /// DER; the system's if there are none.
    pub(crate) authorities: Option<Vec<Vec<u8>>>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) user: AuthInfo,
    pub(crate) stamps: Stamps,
}

const NOT_AN_ADDRESS: LoginError =
    LoginError::Malformed { what: "server", expected: "an address of https:// or http://" };

// === impl Reading ===

impl Reading {
    /// Reads files and the environment; nothing is run or sent.
    pub(crate) fn of(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let (mut reading, proxy_url) = match credentials {
            Credentials::ServiceAccount => (service_account()?, None),
            Credentials::Kubeconfig { path, context } => {
                let stamps = Stamps::of(path);
                let read = Kubeconfig::read_from(path);
                kubeconfig(read, &credentials.place(), context.as_deref(), stamps)?
            }
            Credentials::Contents { kubeconfig: text, context } => {
                let read = Kubeconfig::from_yaml(text.as_str());
                kubeconfig(read, &credentials.place(), context.as_deref(), Stamps::default())?
            }
        };
        if reading.authorities.as_ref().is_some_and(Vec::is_empty) {
            return Err(ConnectError::NoAuthority { origin: credentials.origin() });
        }
        if !matches!(reading.server.scheme_str(), Some("https" | "http")) {
            return Err(ConnectError::Unusable {
                origin: credentials.origin(),
                source: Box::new(NOT_AN_ADDRESS),
            });
        }
        reading.insecure |= options.insecure;
        if !options.no_proxy {
            let proxy = proxy_to(&reading.server, proxy_url.as_deref());
            reading.proxy = proxy.map_err(|error| ConnectError::Unusable {
                origin: credentials.origin(),
                source: Box::new(error.into()),
            })?;
        }
        Ok(reading)
    }
}

fn service_account() -> Result<Reading, ConnectError> {
    // The certificates of the cluster may be exchanged like the token.
    let stamps = Stamps::of(CA_FILE);
    let InCluster { server, certificate_authority } =
        InCluster::read().map_err(ConnectError::ServiceAccount)?;
    Ok(Reading {
        server,
        authorities: Some(certificates(&certificate_authority)),
        insecure: false,
        server_name: None,
        proxy: None,
        user: AuthInfo { token_file: Some(TOKEN_FILE.to_owned()), ..AuthInfo::default() },
        stamps,
    })
}

/// With the proxy that it names.
fn kubeconfig(
    read: Result<Kubeconfig, KubeconfigError>,
    place: &str,
    context: Option<&str>,
    mut stamps: Stamps,
) -> Result<(Reading, Option<String>), ConnectError> {
    let failed = |source| match source {
        KubeconfigError::Parse(error) => {
            let line = error.location().map_or(0, |location| location.line());
            ConnectError::Unreadable { kubeconfig: place.to_owned(), line }
        }
        source => ConnectError::Kubeconfig { kubeconfig: place.to_owned(), source },
    };
    let file = read.map_err(failed)?;
    let (cluster, user) = chosen(&file, context).map_err(|problem| match problem {
        Problem::Kubeconfig(source) => failed(source),
        Problem::NoSuchUser(user) => ConnectError::NoSuchUser { kubeconfig: place.to_owned(), user },
    })?;
    cluster.certificate_authority.iter().for_each(|file| stamps.add(file));
    // This form of a cluster is what plugins are told. It has the authorities read from wherever they are.
    let told = ExecCluster::of(&cluster).map_err(failed)?;
    let authorities = told.certificate_authority_data.as_deref().map(certificates);
    let server = told.server.clone().ok_or(KubeconfigError::MissingClusterUrl);
    let server = server.and_then(|server| server.parse().map_err(KubeconfigError::ParseClusterUrl));
    let mut user = user.unwrap_or_default();
    if let Some(plugin) = user.exec.as_mut().filter(|plugin| plugin.provide_cluster_info) {
        plugin.cluster = Some(told);
    }
    let reading = Reading {
        server: server.map_err(failed)?,
        authorities,
        insecure: cluster.insecure_skip_tls_verify.unwrap_or(false),
        server_name: cluster.tls_server_name.filter(|name| !name.is_empty()),
        proxy: None,
        user,
        stamps,
    };
    Ok((reading, cluster.proxy_url.filter(|url| !url.is_empty())))
}

enum Problem {
    Kubeconfig(KubeconfigError),
    NoSuchUser(String),
}

/// The cluster and the user that a context names, or the current one.
fn chosen(file: &Kubeconfig, context: Option<&str>) -> Result<(Cluster, Option<AuthInfo>), Problem> {
    let Kubeconfig { current_context, contexts, clusters, users, .. } = file;
    let current = current_context.as_deref().filter(|name| !name.is_empty());
    let name = context.or(current).ok_or(Problem::Kubeconfig(KubeconfigError::CurrentContextNotSet))?;
    let context = contexts.iter().find(|named| named.name == name).and_then(|named| named.context.as_ref());
    let missing = || Problem::Kubeconfig(KubeconfigError::LoadContext(name.to_owned()));
    let context = context.ok_or_else(missing)?;
    let cluster = clusters.iter().find(|named| named.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.clone());
    let missing = || Problem::Kubeconfig(KubeconfigError::LoadClusterOfContext(context.cluster.clone()));
    let cluster = cluster.ok_or_else(missing)?;
    // A name that leads nowhere would be nobody's name, and the API server's answer would explain nothing.
    let user = match context.user.as_ref().filter(|user| !user.is_empty()) {
        None => None,
        Some(user) => {
            let named = users.iter().find(|named| named.name == *user);
            named.ok_or_else(|| Problem::NoSuchUser(user.clone()))?.user.clone()
        }
    };
    Ok((cluster, user))
}

/// What is not a certificate is left out.
fn certificates(pem: &[u8]) -> Vec<Vec<u8>> {
    CertificateDer::pem_slice_iter(pem).filter_map(|found| Some(found.ok()?.to_vec())).collect()
}

/// A proxy that the kubeconfig names is meant for this API server; those of the environment have exceptions.
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
