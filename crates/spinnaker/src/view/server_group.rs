//! Server groups: replica sets, stateful sets, daemon sets and jobs, with their instances.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::Sum,
};

use serde::Serialize;

use super::{
    Common, Empty, Instance, KUBERNETES,
    instance::{InstanceSummary, overall},
};
use crate::{HealthState, Inventory, Moniker, Row, Workload, row::Labels};

/// Server group in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerGroupSummary<'a> {
    name: String,
    account: &'a str,
    region: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    r#type: &'static str,
    cloud_provider: &'static str,
    is_disabled: bool,
    moniker: &'a Moniker,
    build_info: BuildInfo<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_time: Option<i64>,
    capacity: Capacity,
    instances: Vec<InstanceSummary<'a>>,
    load_balancers: BTreeSet<String>,
    security_groups: [(); 0],
    instance_counts: InstanceCounts,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: &'a Labels,
    server_group_managers: Vec<ManagerRef<'a>>,
}

/// Server group with all details.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerGroup<'a> {
    moniker: &'a Moniker,
    instances: Vec<Instance<'a>>,
    load_balancers: BTreeSet<String>,
    #[serde(rename = "serverGroupManagers")]
    managers: Vec<ManagerRef<'a>>,
    disabled: bool,
    capacity: Capacity,
    name: String,
    #[serde(flatten)]
    common: Common<'a>,
    build_info: BuildInfo<'a>,
    zones: [(); 0],
    security_groups: [(); 0],
    launch_config: Empty,
    region: &'a str,
    cloud_provider: &'static str,
    instance_counts: InstanceCounts,
    r#type: &'static str,
}

/// Server group in an expanded list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpandedServerGroup<'a> {
    #[serde(flatten)]
    group: ServerGroup<'a>,
    account_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
}

/// Number of instances by health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceCounts {
    total: usize,
    up: usize,
    down: usize,
    unknown: usize,
    out_of_service: usize,
    starting: usize,
}

#[derive(Debug, Serialize)]
struct BuildInfo<'a> {
    images: &'a [String],
}

#[derive(Debug, Serialize)]
struct Capacity {
    desired: i64,
    pinned: bool,
}

/// Deployment of a replica set, by name without kind.
#[derive(Debug, Serialize)]
struct ManagerRef<'a> {
    name: &'a str,
    location: &'a str,
    account: &'a str,
}

/// Fields that both forms share.
struct Parts<'a> {
    load_balancers: BTreeSet<String>,
    managers: Vec<ManagerRef<'a>>,
    disabled: bool,
    capacity: Capacity,
    images: &'a [String],
    counts: InstanceCounts,
}

// === impl ServerGroupSummary ===

impl<'a> ServerGroupSummary<'a> {
    pub fn new(row: &'a Row, inventory: &'a Inventory<'a>) -> Self {
        let parts = Parts::of(row, inventory);
        Self {
            name: row.full_name(),
            account: &row.account,
            region: &row.object.namespace,
            cluster: row.summary.moniker.cluster.as_deref(),
            r#type: KUBERNETES,
            cloud_provider: KUBERNETES,
            is_disabled: parts.disabled,
            moniker: &row.summary.moniker,
            build_info: BuildInfo { images: parts.images },
            created_time: row.summary.created,
            capacity: parts.capacity,
            instances: inventory.listed_instances_of(row).map(InstanceSummary::new).collect(),
            load_balancers: parts.load_balancers,
            security_groups: [],
            instance_counts: parts.counts,
            labels: &row.summary.labels,
            server_group_managers: parts.managers,
        }
    }
}

// === impl ServerGroup ===

impl<'a> ServerGroup<'a> {
    pub fn new(row: &'a Row, inventory: &Inventory<'a>) -> Self {
        let parts = Parts::of(row, inventory);
        Self {
            moniker: &row.summary.moniker,
            instances: inventory.instances_of(row).map(Instance::new).collect(),
            load_balancers: parts.load_balancers,
            managers: parts.managers,
            disabled: parts.disabled,
            capacity: parts.capacity,
            name: row.full_name(),
            common: Common::of(row),
            build_info: BuildInfo { images: parts.images },
            zones: [],
            security_groups: [],
            launch_config: Empty {},
            region: &row.object.namespace,
            cloud_provider: KUBERNETES,
            instance_counts: parts.counts,
            r#type: KUBERNETES,
        }
    }

    /// The namespace.
    pub fn region(&self) -> &'a str {
        self.region
    }
}

// === impl ExpandedServerGroup ===

impl<'a> ExpandedServerGroup<'a> {
    pub fn new(row: &'a Row, inventory: &Inventory<'a>) -> Self {
        Self {
            group: ServerGroup::new(row, inventory),
            account_name: &row.account,
            cluster: row.summary.moniker.cluster.as_deref(),
            application: row.summary.moniker.application(),
        }
    }
}

// === impl Parts ===

impl<'a> Parts<'a> {
    fn of(row: &'a Row, inventory: &Inventory<'a>) -> Self {
        static NONE: Workload = Workload {
            desired: 0,
            images: Vec::new(),
            pod_labels: BTreeMap::new(),
            service: None,
            managers: Vec::new(),
            load_balancers: Vec::new(),
        };
        let workload = row.workload().unwrap_or(&NONE);
        let attached = inventory.load_balancers_of(row).iter().map(|balancer| balancer.full_name());
        let load_balancers = attached.chain(workload.load_balancers.iter().cloned()).collect();
        let manager = |name| ManagerRef { name, location: &row.object.namespace, account: &row.account };
        Self {
            load_balancers,
            managers: workload.managers.iter().map(|name| manager(name)).collect(),
            disabled: is_disabled(row, inventory),
            capacity: Capacity { desired: workload.desired, pinned: false },
            images: &workload.images,
            counts: counts(row, inventory),
        }
    }
}

pub(super) fn counts(row: &Row, inventory: &Inventory<'_>) -> InstanceCounts {
    InstanceCounts::of(inventory.listed_instances_of(row).map(overall))
}

/// Whether none of a workload's load balancers sends it traffic.
pub(super) fn is_disabled(row: &Row, inventory: &Inventory<'_>) -> bool {
    let wants_traffic = row.workload().is_some_and(|workload| !workload.load_balancers.is_empty());
    wants_traffic && inventory.load_balancers_of(row).is_empty()
}

// === impl InstanceCounts ===

impl InstanceCounts {
    fn of(states: impl Iterator<Item = HealthState>) -> Self {
        let mut counts = Self::default();
        for state in states {
            counts.total += 1;
            match state {
                HealthState::Up => counts.up += 1,
                HealthState::Down => counts.down += 1,
                HealthState::Unknown => counts.unknown += 1,
            }
        }
        counts
    }

    pub(super) fn is_empty(self) -> bool {
        self.total == 0
    }
}

impl Sum for InstanceCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            total: sum.total + one.total,
            up: sum.up + one.up,
            down: sum.down + one.down,
            unknown: sum.unknown + one.unknown,
            out_of_service: sum.out_of_service + one.out_of_service,
            starting: sum.starting + one.starting,
        })
    }
}

/// Parses `<account>:<region>:<name>`.
pub fn server_group_id(id: &str) -> Option<(&str, &str, &str)> {
    match id.split(':').collect::<Vec<_>>()[..] {
        [account, region, name] => Some((account, region, name)),
        _ => None,
    }
}
