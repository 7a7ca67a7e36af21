//! Errors of kubeconfig files. Those of the parser are not shown to users, since they quote the file.

use std::{io, path::PathBuf};

/// A kubeconfig that cannot be read or lacks something.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// No context was named, and the file has no current one.
    #[error("failed to determine current context")]
    CurrentContextNotSet,
    /// Two documents are of different kinds.
    #[error("kubeconfigs with mismatching kind cannot be merged")]
    KindMismatch,
    /// Two documents are of different versions.
    #[error("kubeconfigs with mismatching api version cannot be merged")]
    ApiVersionMismatch,
    /// There is no context of this name.
    #[error("failed to load current context: {0}")]
    LoadContext(String),
    /// There is no cluster of the name that the context has.
    #[error("failed to load the cluster of context: {0}")]
    LoadClusterOfContext(String),
    /// The file cannot be read.
    #[error("failed to read kubeconfig from '{1:?}': {0}")]
    ReadConfig(#[source] io::Error, PathBuf),
    /// The text is not YAML of the expected form.
    #[error("failed to parse kubeconfig YAML: {0}")]
    Parse(Box<serde_saphyr::Error>),
    /// The cluster has no address.
    #[error("cluster url is missing on selected cluster")]
    MissingClusterUrl,
    /// The address of the cluster is not a URL.
    #[error("failed to parse cluster url: {0}")]
    ParseClusterUrl(#[source] http::uri::InvalidUri),
    /// The certificate authority of the cluster cannot be loaded.
    #[error("failed to load certificate authority: {0}")]
    LoadCertificateAuthority(#[source] LoadDataError),
}

/// Data of a kubeconfig, or a file that it names, that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadDataError {
    /// The data is not base64.
    #[error("failed to decode base64 data: {0}")]
    DecodeBase64(#[source] base64::DecodeError),
    /// The file cannot be read.
    #[error("failed to read file '{1:?}': {0}")]
    ReadFile(#[source] io::Error, PathBuf),
}
