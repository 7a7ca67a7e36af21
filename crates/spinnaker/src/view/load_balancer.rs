//! Load balancers: services and ingresses, with the server groups that receive their traffic.

use serde::Serialize;

use super::{
    Common, KUBERNETES,
    instance::{Health, InstanceName, last_health},
    server_group::is_disabled,
};
use crate::{Inventory, Moniker, Row, SpinnakerKind, row::ListedInstance};

/// Service or ingress.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer<'a> {
    moniker: &'a Moniker,
    server_groups: Vec<LoadBalancerServerGroup<'a>>,
    name: String,
    #[serde(flatten)]
    common: Common<'a>,
    region: &'a str,
    cloud_provider: &'static str,
    r#type: &'static str,
}

/// Server group of a load balancer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerServerGroup<'a> {
    name: String,
    account: &'a str,
    region: &'a str,
    is_disabled: bool,
    detached_instances: [(); 0],
    instances: Vec<BalancedInstance<'a>>,
    cloud_provider: &'static str,
}

#[derive(Debug, Serialize)]
struct BalancedInstance<'a> {
    id: &'a str,
    name: InstanceName<'a>,
    zone: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<Health<'a>>,
}

// === impl LoadBalancer ===

impl<'a> LoadBalancer<'a> {
    pub fn new(row: &'a Row, inventory: &'a Inventory<'a>) -> Self {
        let groups = inventory.balanced_by(row).iter();
        Self {
            moniker: &row.summary.moniker,
            server_groups: groups.map(|group| LoadBalancerServerGroup::new(group, inventory)).collect(),
            name: row.full_name(),
            common: Common::of(row),
            region: &row.object.namespace,
            cloud_provider: KUBERNETES,
            r#type: KUBERNETES,
        }
    }

    /// Load balancers of an application, sorted by name.
    pub fn of_application(application: &str, inventory: &'a Inventory<'a>) -> Vec<Self> {
        let rows = inventory.of_application(application, SpinnakerKind::LoadBalancers);
        let mut balancers: Vec<_> = rows.map(|row| Self::new(row, inventory)).collect();
        balancers.sort_by(|one, other| one.name.cmp(&other.name));
        balancers
    }
}

// === impl LoadBalancerServerGroup ===

impl<'a> LoadBalancerServerGroup<'a> {
    fn new(row: &'a Row, inventory: &'a Inventory<'a>) -> Self {
        let instance = |pod: &'a ListedInstance<'a>| BalancedInstance {
            id: &pod.uid,
            name: InstanceName::of(pod),
            zone: &pod.namespace,
            health: last_health(pod),
        };
        Self {
            name: row.full_name(),
            account: &row.account,
            region: &row.object.namespace,
            is_disabled: is_disabled(row, inventory),
            detached_instances: [],
            instances: inventory.listed_instances_of(row).map(instance).collect(),
            cloud_provider: KUBERNETES,
        }
    }
}
