//! Check of one account: from its credentials to its permissions.

use std::net::SocketAddr;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use spindrift_kubernetes::{
    Api, ApiError, ApiOptions, AuthMethod, ConnectError, Credentials, Inspection, LoginError, PluginError,
    Redactions, ServerInfo,
};
use spindrift_model::AccountName;
use spindrift_process::{
    check::{
        DEADLINE, Line, Section,
        certificate::Certificate,
        clock::{clock, http_date},
        reach::Place,
        tls::{TlsProbe, Words},
    },
    report,
};
use tokio::time::timeout;

use super::rbac;
use crate::config::AccountConfig;

pub(super) async fn section(
    config: &AccountConfig,
    mut options: ApiOptions,
    impersonated: Result<Option<String>, String>,
) -> Section {
    let mut section = Section::new(format!("account {}", config.name));
    if let (_, Some(problem)) = config.permissions() {
        let remedy =
            format!("write permissions of account {} as {{READ: [roles], WRITE: [roles]}}", config.name);
        section.wrong("permissions", problem, remedy);
    }
    if let Err(problem) = config.check_spinnaker() {
        section.wrong(
            "spinnaker",
            problem,
            format!("correct it: account {} is not served before", config.name),
        );
    }
    match impersonated {
        Ok(user) => options.impersonate = user,
        Err(problem) => {
            let remedy = format!("correct assumeServiceAccount of account {}, or allow it", config.name);
            section.wrong("assume", problem, remedy);
        }
    }
    let Some((credentials, inspection)) = inspect(config, &options, &mut section).await else {
        let rest = ["dns", "dial", "tls", "certificate", "version", "clock", "identity", "rbac"];
        section.skip(&rest, "the credentials cannot be used");
        return section;
    };
    let Some(address) = reach(config, &inspection, &mut section).await else {
        let rest = ["tls", "certificate", "version", "clock", "identity", "rbac"];
        section.skip(&rest, "the API server cannot be reached");
        return section;
    };
    secure(config, &inspection, address, &mut section).await;
    if let Some(api) = connect(config, &credentials, &inspection, &options, &mut section).await {
        let user = identity(config, &api, &mut section).await;
        rbac::check(config, &api, &user, &mut section).await;
    }
    section
}

/// Reads the credentials; nothing is run or sent.
async fn inspect(
    config: &AccountConfig,
    options: &ApiOptions,
    section: &mut Section,
) -> Option<(Credentials, Inspection)> {
    const CHECK: &str = "credentials";
    let name = &config.name;
    if let Err(invalid) = AccountName::parse(name) {
        section.wrong("name", invalid.to_string(), format!("correct the name of account {name:?}"));
    }
    if let Err(invalid) = Redactions::compile(&config.redact) {
        let remedy =
            format!("correct kubernetes.redact, or redact of account {name}: it is not served before");
        section.wrong("redact", invalid.to_string(), remedy);
    }
    let credentials = match config.credentials() {
        Ok(credentials) => credentials,
        Err(problem) => {
            let remedy = format!(
                "give account {name} one of kubeconfigFile, kubeconfigContents and serviceAccount: true"
            );
            section.wrong(CHECK, problem, remedy);
            return None;
        }
    };
    let (read, reading) = (credentials.clone(), options.clone());
    let inspected = tokio::task::spawn_blocking(move || read.inspect(&reading));
    let inspection = match timeout(DEADLINE, inspected).await {
        Ok(Ok(Ok(inspection))) => inspection,
        Ok(Ok(Err(error))) => {
            section.wrong(CHECK, report(&error), remedy(name, &credentials, &error));
            return None;
        }
        Ok(Err(_)) | Err(_) => {
            let found = format!("{} cannot be read within {DEADLINE:?}", credentials.origin());
            section.wrong(CHECK, found, format!("move the kubeconfigFile of account {name} to a local disk"));
            return None;
        }
    };
    section.ok(CHECK, format!("{}, with {}", credentials.origin(), inspection.auth_method));
    if let AuthMethod::Certificate(pem) = &inspection.auth_method {
        client_certificate(name, pem, section);
    }
    Some((credentials, inspection))
}

fn remedy(name: &str, credentials: &Credentials, error: &ConnectError) -> String {
    if error.is_missing_file() {
        return format!("correct kubeconfigFile of account {name}, or make the file readable for the agent");
    }
    if error.is_missing_context() {
        let contexts = credentials.contexts().join(", ");
        let known = if contexts.is_empty() { "none".to_owned() } else { contexts };
        return format!("set context of account {name} to one that the file has: {known}");
    }
    match error {
        ConnectError::ServiceAccount(_) => {
            format!("run the agent in a pod with a service account, or give account {name} a kubeconfigFile")
        }
        ConnectError::Unreadable { .. } => {
            format!("correct the file at this line, or name another as kubeconfigFile of account {name}")
        }
        ConnectError::NoAuthority { .. } => {
            "put the API server's CA into certificate-authority-data of the kubeconfig".into()
        }
        ConnectError::Unusable { source, .. } if matches!(**source, LoginError::Proxy(_)) => {
            format!("use a proxy of http://, or set noProxy: true for account {name}")
        }
        _ => format!("correct what the kubeconfigFile of account {name} names"),
    }
}

fn client_certificate(name: &str, pem: &[u8], section: &mut Section) {
    let parsed = CertificateDer::from_pem_slice(pem).ok().and_then(|der| Certificate::parse(&der));
    let remedy = format!("renew the client certificate in the kubeconfigFile of account {name}");
    section.push(match parsed {
        Some(certificate) => {
            certificate.validity("client", "the client certificate", Timestamp::now(), &remedy)
        }
        None => Line::wrong("client", "the client certificate is not PEM of X.509", remedy),
    });
}

/// Returns the address of the API server, or of the proxy in front of it.
async fn reach(config: &AccountConfig, inspection: &Inspection, section: &mut Section) -> Option<SocketAddr> {
    let name = &config.name;
    let Inspection { server, proxy, .. } = inspection;
    let place = if let Some(proxy) = proxy {
        let setting = format!("proxy-url of the kubeconfig or HTTPS_PROXY (noProxy of account {name})");
        section.ok("proxy", format!("the way to {server} goes through {proxy}"));
        Place::parse(proxy, Some(8080), &setting)
    } else {
        let default_port = if server.scheme_str() == Some("http") { 80 } else { 443 };
        let setting = format!("server of the kubeconfig of account {name}");
        Place::parse(&server.to_string(), Some(default_port), &setting)
    };
    let Some(place) = place else {
        let remedy = "expected https://host:port as server of the kubeconfig";
        section.wrong("dns", format!("{server} names no host"), remedy);
        return None;
    };
    place.reach(section).await
}

/// Checks the certificate of the API server.
async fn secure(config: &AccountConfig, inspection: &Inspection, address: SocketAddr, section: &mut Section) {
    let name = &config.name;
    let Inspection { server, authorities, insecure, server_name, proxy, .. } = inspection;
    if proxy.is_some() || server.scheme_str() == Some("http") {
        let because =
            if proxy.is_some() { "a proxy is in between" } else { "the kubeconfig's server is http://" };
        section.skip(&["tls", "certificate"], because);
        return;
    }
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let probe = match TlsProbe::trusting(authorities.as_deref(), server_name.clone()) {
        Ok(probe) => probe,
        Err(error) => {
            let remedy = "put the API server's CA into certificate-authority-data of the kubeconfig";
            section.wrong("tls", report(&error), remedy);
            return;
        }
    };
    let handshake = match probe.connect(host, address).await {
        Ok(handshake) => handshake,
        Err(error) => {
            let remedy = format!("correct the port in server of the kubeconfig of account {name}");
            section.wrong("tls", format!("there is no TLS at {address}: {}", report(&error)), remedy);
            section.skip(&["certificate"], "there is no TLS");
            return;
        }
    };
    section.ok("tls", handshake.version());
    if *insecure {
        let found = "every certificate of the API server is accepted";
        let remedy = format!("set insecure: false for account {name}, and put the CA into its kubeconfig");
        section.warn("certificate", found, remedy);
        return;
    }
    let authority = "the certificate authority of the kubeconfig";
    let words = Words {
        certificate: "the API server's certificate",
        host: server_name.clone().unwrap_or_else(|| host.to_owned()),
        trust: if authorities.is_some() { authority } else { "the system's trust" }.into(),
        untrusted: "put the API server's CA into certificate-authority-data of the kubeconfig".into(),
        misnamed: "use one of these names in server of the kubeconfig, or set tls-server-name there".into(),
        renew: "renew the API server's certificate".into(),
    };
    section.push(handshake.certificate(&words, Timestamp::now()));
}

/// Uses the credentials for the first request; reports the lines `version` and `clock`.
async fn connect(
    config: &AccountConfig,
    credentials: &Credentials,
    inspection: &Inspection,
    options: &ApiOptions,
    section: &mut Section,
) -> Option<Api> {
    let api = match timeout(DEADLINE, Api::connect(credentials, options)).await {
        Ok(Ok(api)) => api,
        Ok(Err(error)) => {
            let (found, remedy) = unusable(&config.name, inspection, &error);
            section.wrong("login", found, remedy);
            section.skip(&["version", "clock", "identity", "rbac"], "the credentials cannot be used");
            return None;
        }
        Err(_) => {
            let found = format!("{} did not end within {DEADLINE:?}", inspection.auth_method);
            section.wrong("login", found, "run it by hand as the agent's user; it must not ask questions");
            section.skip(&["version", "clock", "identity", "rbac"], "the credentials cannot be used");
            return None;
        }
    };
    match api.server_info().await {
        Ok(ServerInfo { version, date }) => {
            section.ok("version", version);
            match date.as_deref().and_then(http_date) {
                Some(theirs) => section.push(clock("the API server", theirs, Timestamp::now())),
                None => section.skip(&["clock"], "the API server does not tell the time"),
            }
            Some(api)
        }
        Err(error) => {
            refused(config, inspection, &error, section);
            None
        }
    }
}

/// Returns the problem of the credentials and its remedy; the errors contain no secrets.
fn unusable(name: &str, inspection: &Inspection, error: &ConnectError) -> (String, String) {
    let ConnectError::Unusable { source, .. } = error else {
        return (report(error), format!("correct the user in the kubeconfigFile of account {name}"));
    };
    let remedy = match (&**source, &inspection.auth_method) {
        (LoginError::Plugin(PluginError::Start { command, .. }), _) => {
            format!("install {command} where the agent runs, or use a token or a certificate")
        }
        (LoginError::Plugin(_), AuthMethod::Plugin { command }) => {
            format!("run {command} by hand, as the agent's user, to see why")
        }
        _ => format!("correct the user in the kubeconfigFile of account {name}"),
    };
    (report(&**source), remedy)
}

fn refused(config: &AccountConfig, inspection: &Inspection, error: &ApiError, section: &mut Section) {
    let name = &config.name;
    if error.is_unauthorized() {
        section.skip(&["version", "clock"], "the API server does not know who asks");
        section.push(unknown(name, &inspection.auth_method));
        section.skip(&["rbac"], "the API server does not know who asks");
        return;
    }
    let remedy = match error {
        ApiError::Send { .. } => "correct what is wrong above; else see the API server's log",
        _ => "see the API server's log, and that of the proxies before it",
    };
    section.wrong("version", report(error), remedy);
    section.skip(&["clock", "identity", "rbac"], "the API server does not answer");
}

fn unknown(name: &str, auth_method: &AuthMethod) -> Line {
    let remedy = match auth_method {
        AuthMethod::Certificate(_) => {
            "have the certificate signed by the CA that the API server trusts for clients"
        }
        AuthMethod::Token => "renew the token: it has expired, or is another cluster's",
        AuthMethod::Plugin { .. } => "log in again with the plugin's own tools",
        AuthMethod::Password | AuthMethod::Anonymous => {
            "give the user of the kubeconfig a token, a certificate or a plugin"
        }
    };
    let found =
        format!("the API server does not know the user of account {name}, who shows {auth_method} (401)");
    Line::wrong("identity", found, remedy)
}

/// The name that roles have to be bound to.
async fn identity(config: &AccountConfig, api: &Api, section: &mut Section) -> String {
    let anonymous = "the account's user".to_owned();
    match api.user_name().await {
        Ok(user) => {
            section.ok("identity", user.clone());
            user
        }
        Err(error) => {
            match error.status() {
                Some(status) if status.is_unauthorized() => {
                    let remedy = format!("renew the token or certificate of account {}", config.name);
                    section.wrong("identity", report(&error), remedy);
                }
                Some(_) => section.skip(&["identity"], "this API server does not tell who we are"),
                None => section.warn("identity", report(&error), "see the API server's log"),
            }
            anonymous
        }
    }
}
