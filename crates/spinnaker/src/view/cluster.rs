//! Clusters: server groups with a common name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{KUBERNETES, LoadBalancer, ServerGroup};
use crate::{Inventory, Row, SpinnakerKind};

/// Entry of `/applications/{application}/clusters/{account}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSummary<'a> {
    name: &'a str,
    account: &'a str,
    moniker: ClusterMoniker<'a>,
    load_balancers: BTreeSet<String>,
    server_groups: Vec<String>,
}

/// Cluster; its lists are empty unless it is expanded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster<'a> {
    name: &'a str,
    moniker: ClusterMoniker<'a>,
    r#type: &'static str,
    account_name: &'a str,
    server_groups: Vec<ServerGroup<'a>>,
    load_balancers: Vec<LoadBalancer<'a>>,
    application: &'a str,
}

#[derive(Debug, Serialize)]
struct ClusterMoniker<'a> {
    app: &'a str,
    cluster: &'a str,
}

// === impl ClusterSummary ===

impl<'a> ClusterSummary<'a> {
    /// Clusters of an application in an account, sorted by name.
    pub fn of_account(application: &'a str, account: &'a str, inventory: &Inventory<'a>) -> Vec<Self> {
        let mut clusters: BTreeMap<&str, Self> = BTreeMap::new();
        let parts = inventory.rows().filter(|row| &*row.account == account && belongs(row, application));
        for row in parts {
            let Some(name) = row.cluster.as_deref() else { continue };
            let cluster = clusters.entry(name).or_insert_with(|| Self {
                name,
                account,
                moniker: ClusterMoniker { app: application, cluster: name },
                load_balancers: BTreeSet::new(),
                server_groups: Vec::new(),
            });
            if row.spinnaker_kind == SpinnakerKind::ServerGroups {
                cluster.server_groups.push(row.full_name());
                let attached = inventory.load_balancers_of(row).iter();
                cluster.load_balancers.extend(attached.map(|balancer| balancer.full_name()));
            }
        }
        clusters.into_values().collect()
    }
}

// === impl Cluster ===

impl<'a> Cluster<'a> {
    /// Cluster by name, if any object belongs to it.
    pub fn find(
        (application, account, name): (&'a str, &'a str, &'a str),
        expand: bool,
        inventory: &'a Inventory<'a>,
    ) -> Option<Self> {
        let is_part = |row: &&Row| {
            &*row.account == account && row.cluster.as_deref() == Some(name) && belongs(row, application)
        };
        let parts: Vec<_> = inventory.rows().filter(is_part).collect();
        if parts.is_empty() {
            return None;
        }
        let groups = || parts.iter().filter(|row| row.spinnaker_kind == SpinnakerKind::ServerGroups);
        let mut balancers: Vec<_> =
            groups().flat_map(|row| inventory.load_balancers_of(row)).copied().filter(|_| expand).collect();
        balancers.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        balancers.dedup_by(|one, other| one.object == other.object);
        let groups = groups().filter(|_| expand).map(|row| ServerGroup::new(row, inventory));
        Some(Self {
            name,
            moniker: ClusterMoniker { app: application, cluster: name },
            r#type: KUBERNETES,
            account_name: account,
            server_groups: groups.collect(),
            load_balancers: balancers.into_iter().map(|row| LoadBalancer::new(row, inventory)).collect(),
            application,
        })
    }

    pub fn into_server_groups(self) -> Vec<ServerGroup<'a>> {
        self.server_groups
    }
}

fn belongs(row: &Row, application: &str) -> bool {
    row.application.as_deref() == Some(application)
}
