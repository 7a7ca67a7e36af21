//! Client of one API server: credentials, connections, requests and their errors.

pub(crate) mod api;
pub(crate) mod credentials;
pub(crate) mod error;
pub(crate) mod in_cluster;
pub(crate) mod incoming;
pub(crate) mod kubeconfig;
pub(crate) mod request;
pub(crate) mod status;
pub(crate) mod transport;
