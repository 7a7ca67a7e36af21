//! Fixtures of the tests of several modules.

use std::time::Duration;

use spindrift_kubernetes::{Api, ApiOptions, Credentials, Redactions, Resolver, Schemas};
use spindrift_model::{AccountDescription, AccountName, ClusterIdentity};

use crate::{
    accounts::Account,
    config::{AccountConfig, AgentConfig},
    watch::{Budgets, KnownPermissions},
};

/// Kubeconfig of an address at which nothing listens.
const KUBECONFIG: &str = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], \
    clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}";

/// An account that is ready, though its API server is gone.
pub(crate) async fn account(name: &str) -> Account {
    let credentials = Credentials::Contents { kubeconfig: KUBECONFIG.into(), context: None };
    let config = AgentConfig::default();
    Account {
        description: AccountDescription {
            name: AccountName::parse(name).unwrap(),
            cluster: ClusterIdentity { uid: None, ca_fingerprint: None, host: "nowhere".into() },
            kubernetes_version: "v1".into(),
            namespaces: Vec::new(),
            properties: "{}".into(),
            max_resumable_age: Duration::from_mins(5),
        },
        config: AccountConfig::default(),
        redactions: Redactions::compile(&[]).unwrap(),
        api: Api::connect(&credentials, &ApiOptions::default()).await.unwrap(),
        resolver: Resolver::default(),
        paged_lists_only: false.into(),
        schemas: Schemas::default(),
        permissions: KnownPermissions::default(),
        budget: Budgets::new(config.limits()).account(),
        timeouts: config.kubernetes.watches.timeouts(),
    }
}
