//! Applications and the names of their clusters. They need no rows, only the names of clusters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::KUBERNETES;
use crate::Row;

/// Names of a cluster, which exists while an object belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterRef {
    pub application: String,
    pub account: String,
    pub cluster: String,
}

/// Entry of `/applications`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Application<'a> {
    name: &'a str,
    cluster_names: BTreeMap<&'a str, BTreeSet<&'a str>>,
    attributes: Attributes<'a>,
}

/// `/applications/{application}`.
#[derive(Debug, PartialEq, Serialize)]
pub struct ApplicationDetails<'a> {
    name: &'a str,
    attributes: Attributes<'a>,
    clusters: BTreeMap<&'a str, Vec<MinimalCluster<'a>>>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attributes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cloud_providers: Option<&'static str>,
    name: &'a str,
}

/// Cluster without its parts, which callers do not read here.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct MinimalCluster<'a> {
    name: &'a str,
    load_balancers: [(); 0],
    server_groups: [(); 0],
    provider: &'static str,
}

// === impl ClusterRef ===

impl ClusterRef {
    /// Cluster to which an object belongs.
    pub fn of(row: &Row) -> Option<Self> {
        Some(Self {
            application: row.application.clone()?,
            account: row.account.to_string(),
            cluster: row.cluster.clone()?,
        })
    }
}

/// All applications, sorted by name without case. `names` are those that any object belongs to, also without a cluster.
pub fn applications<'a>(
    names: impl IntoIterator<Item = &'a str>,
    clusters: impl IntoIterator<Item = &'a ClusterRef>,
) -> Vec<Application<'a>> {
    let mut by_name: BTreeMap<_, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for name in names {
        by_name.entry((name.to_lowercase(), name)).or_default();
    }
    for ClusterRef { application, account, cluster } in clusters {
        let clusters = by_name.entry((application.to_lowercase(), application)).or_default();
        clusters.entry(account).or_default().insert(cluster);
    }
    let application = |((_, name), cluster_names)| Application {
        name,
        cluster_names,
        attributes: Attributes { cloud_providers: None, name },
    };
    by_name.into_iter().map(application).collect()
}

/// `/applications/{application}/clusters`: names by account.
pub fn clusters_of<'a>(
    application: &str,
    clusters: impl IntoIterator<Item = &'a ClusterRef>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cluster in clusters.into_iter().filter(|cluster| cluster.application == application) {
        names.entry(&cluster.account).or_default().insert(&cluster.cluster);
    }
    names
}

// === impl ApplicationDetails ===

impl<'a> ApplicationDetails<'a> {
    pub fn new(name: &'a str, clusters: impl IntoIterator<Item = &'a ClusterRef>) -> Self {
        let minimal = |name: &'a str| MinimalCluster {
            name,
            load_balancers: [],
            server_groups: [],
            provider: KUBERNETES,
        };
        let clusters = clusters_of(name, clusters).into_iter();
        Self {
            name,
            attributes: Attributes { cloud_providers: Some(KUBERNETES), name },
            clusters: clusters
                .map(|(account, names)| (account, names.into_iter().map(minimal).collect()))
                .collect(),
        }
    }
}
