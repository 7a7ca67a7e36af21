use std::error::Error;

use tempfile::NamedTempFile;

use super::*;
use crate::client::api::Api;

const CANARY: &str = "canary-token";

/// A self-signed certificate, made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 36500`.
const CA: &str = include_str!("ca.pem");

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: here
contexts:
- {{name: here, context: {{cluster: c, user: u}}}}
- {{name: nobody, context: {{cluster: c, user: ghost}}}}
clusters:
- {{name: c, cluster: {{{cluster}}}}}
users:
- {{name: u, user: {{{user}}}}}
"
    )
}

async fn connect(text: &str, context: Option<&str>) -> Result<Api, ConnectError> {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let credentials =
        Credentials::Kubeconfig { path: file.path().to_owned(), context: context.map(Into::into) };
    Api::connect(&credentials, &ApiOptions { no_proxy: true, ..ApiOptions::default() }).await
}

fn explain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[tokio::test]
async fn unusable_credentials_are_explained_and_not_quoted() {
    let server = "server: \"https://localhost:1\"";
    let token = format!("token: {CANARY}");
    for (text, context, reason) in [
        (String::new(), None, "current context"),
        (format!("kind: Config\nusers: {{{token}: ["), None, "line 2 is not YAML"),
        (format!("users: {CANARY}"), None, "not YAML"),
        (kubeconfig(server, &token), Some("there"), "there"),
        (kubeconfig(server, &token), Some("nobody"), "no user \"ghost\""),
        (kubeconfig("", &token), None, "cluster url"),
        (kubeconfig("server: \"https://lo cal\"", &token), None, "cluster url"),
        (kubeconfig("server: \"localhost:8080\"", &token), None, "not an address of https://"),
        (kubeconfig(server, "token: \"a\\nb\""), None, "token is not fit for a header"),
        (kubeconfig(server, "client-certificate-data: AAAA"), None, "not the client key that belongs to it"),
        (kubeconfig(server, "client-certificate-data: AAAA, client-key-data: AAAA"), None, "is not PEM"),
        (kubeconfig(server, "auth-provider: {name: gcp}"), None, "use a credential plugin"),
        (kubeconfig(&format!("{server}, certificate-authority: /no/such/ca"), &token), None, "/no/such/ca"),
        (kubeconfig(&format!("{server}, certificate-authority-data: AAAA"), &token), None, "certificate"),
        (kubeconfig(server, "client-certificate: /no/cert, client-key: /no/key"), None, "/no/"),
    ] {
        let error = connect(&text, context).await.err().unwrap_or_else(|| panic!("{text} is usable"));
        let explanation = explain(&error);
        assert!(explanation.contains(reason) && explanation.contains("kubeconfig /"), "{explanation}");
        assert!(!explanation.contains(CANARY), "{explanation}");
    }
}

#[tokio::test]
async fn a_missing_file_and_a_missing_pod_are_named() {
    let credentials = Credentials::Kubeconfig { path: "/no/such/file".into(), context: None };
    let error = Api::connect(&credentials, &ApiOptions::default()).await.err().unwrap();
    assert!(explain(&error).contains("/no/such/file"));
    let error = Api::connect(&Credentials::ServiceAccount, &ApiOptions::default()).await.err().unwrap();
    assert_eq!(error.to_string(), "use the pod's service account");
}

#[tokio::test]
async fn relative_files_are_found_beside_the_kubeconfig() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("ca.pem"), CA).unwrap();
    let path = directory.path().join("config");
    let cluster = "server: \"https://localhost:1/prefix/\", certificate-authority: ca.pem";
    std::fs::write(&path, kubeconfig(cluster, "token: t")).unwrap();
    let credentials = Credentials::Kubeconfig { path, context: None };
    let api = Api::connect(&credentials, &ApiOptions::default()).await.unwrap();
    let server = api.transport.server();
    assert_eq!(server.url(), "https://localhost:1/prefix");
    assert_eq!(server.ca_fingerprint(), Some(include_str!("ca.sha256").trim()));
}
