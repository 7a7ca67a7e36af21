//! Inventory: rows and their relations, from which every view is built.
//!
//! ```text
//! manager ◀──owns── server group ◀──owns── instance        cluster = (account, application, name of the cluster)
//!                        ▲
//!              balances ─┘── load balancer
//! ```

use std::collections::HashMap;

use crate::{
    Aspect, Kind, Row, SpinnakerKind, Workload,
    row::{ListedInstance, RowReader},
};

/// Rows with their relations. To show the server groups of an application it needs these, the instances they own, and the
/// services of their namespaces.
#[derive(Debug)]
pub struct Inventory<'a> {
    rows: Vec<&'a Row>,
    owned: HashMap<ObjectPlace<'a>, Vec<&'a Row>>,
    instances: Vec<ListedInstance<'a>>,
    /// Indexes of the instances of each server group.
    listed: HashMap<ObjectPlace<'a>, Vec<usize>>,
    /// Load balancers by the workloads they send traffic to; the next field is the reverse.
    balancers: HashMap<ObjectPlace<'a>, Vec<&'a Row>>,
    balanced: HashMap<ObjectPlace<'a>, Vec<&'a Row>>,
}

/// Account, namespace, kind and name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ObjectPlace<'a> {
    account: &'a str,
    namespace: &'a str,
    kind: &'a Kind,
    name: &'a str,
}

// === impl Inventory ===

impl<'a> Inventory<'a> {
    /// Relates rows in any order; views are sorted by name.
    pub fn new(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        let mut owned: HashMap<_, Vec<_>> = HashMap::new();
        for row in &rows {
            for owner in &row.owners {
                let place = ObjectPlace { kind: &owner.kind, name: &owner.name, ..ObjectPlace::of(row) };
                owned.entry(place).or_default().push(*row);
            }
        }
        let (balancers, balanced) = balance(&rows);
        let inventory =
            Self { rows, owned, instances: Vec::new(), listed: HashMap::new(), balancers, balanced };
        let instances: Vec<_> =
            inventory.of_kind(SpinnakerKind::Instances).map(ListedInstance::from).collect();
        inventory.with_instances(instances)
    }

    /// Adds instances for lists, in any order.
    #[must_use]
    pub fn with_instances(mut self, instances: impl IntoIterator<Item = ListedInstance<'a>>) -> Self {
        let owners: HashMap<_, _> = self.rows.iter().map(|row| (ObjectPlace::of(row), *row)).collect();
        let mut kinds = RowReader::default();
        for instance in instances {
            let (account, namespace) = (instance.account, &*instance.namespace);
            for (kind, name) in instance.owners() {
                let place = ObjectPlace { account, namespace, kind: &kinds.kind(kind), name };
                if let Some(owner) = owners.get(&place) {
                    self.listed.entry(ObjectPlace::of(owner)).or_default().push(self.instances.len());
                }
            }
            self.instances.push(instance);
        }
        for listed in self.listed.values_mut() {
            let key = |number: &usize| self.instances.get(*number).map(ListedInstance::sort_key);
            listed.sort_by_key(key);
            listed.dedup_by_key(|number| key(number));
        }
        self
    }

    /// Rows of a kind, sorted by account and name.
    pub fn of_kind(&self, kind: SpinnakerKind) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().copied().filter(move |row| row.spinnaker_kind == kind)
    }

    /// Rows of a kind that belong to an application.
    pub fn of_application(&self, application: &str, kind: SpinnakerKind) -> impl Iterator<Item = &'a Row> {
        self.of_kind(kind).filter(move |row| row.application.as_deref() == Some(application))
    }

    /// Everything.
    pub fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().copied()
    }

    /// One object.
    pub fn find(&self, account: &str, namespace: &str, kind: &Kind, name: &str) -> Option<&'a Row> {
        let place = ObjectPlace { account, namespace, kind, name };
        self.rows.iter().copied().find(|row| ObjectPlace::of(row) == place)
    }

    pub(crate) fn instances_of(&self, row: &'a Row) -> impl Iterator<Item = &'a Row> {
        self.owned_by(row, SpinnakerKind::Instances)
    }

    /// Instances of a server group as lists show them, sorted by name.
    pub(crate) fn listed_instances_of<'i>(
        &'i self,
        row: &'i Row,
    ) -> impl Iterator<Item = &'i ListedInstance<'a>> {
        let listed = self.listed.get(&ObjectPlace::of(row)).map_or(&[][..], Vec::as_slice);
        listed.iter().filter_map(|number| self.instances.get(*number))
    }

    pub(crate) fn server_groups_of(&self, manager: &'a Row) -> impl Iterator<Item = &'a Row> {
        self.owned_by(manager, SpinnakerKind::ServerGroups)
    }

    pub(crate) fn load_balancers_of(&self, workload: &'a Row) -> &[&'a Row] {
        self.balancers.get(&ObjectPlace::of(workload)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn balanced_by(&self, load_balancer: &'a Row) -> &[&'a Row] {
        self.balanced.get(&ObjectPlace::of(load_balancer)).map_or(&[], Vec::as_slice)
    }

    fn owned_by(&self, row: &'a Row, kind: SpinnakerKind) -> impl Iterator<Item = &'a Row> {
        let owned = self.owned.get(&ObjectPlace::of(row)).map_or(&[][..], Vec::as_slice);
        owned.iter().copied().filter(move |row| row.spinnaker_kind == kind)
    }
}

type Related<'a> = HashMap<ObjectPlace<'a>, Vec<&'a Row>>;

/// Relates services to the workloads of their namespace that they send traffic to. A service is compared only with workloads
/// that have the first label of its selector, or its name: some namespaces have thousands of both.
fn balance<'a>(rows: &[&'a Row]) -> (Related<'a>, Related<'a>) {
    let mut candidates: HashMap<_, Vec<&'a Row>> = HashMap::new();
    for row in rows.iter().copied() {
        for mark in row.workload().into_iter().flat_map(|workload| Mark::of(row.kind(), workload)) {
            candidates.entry((&*row.account, &*row.object.namespace, mark)).or_default().push(row);
        }
    }
    let (mut balancers, mut balanced) = (Related::new(), Related::new());
    for service in rows.iter().copied() {
        let Aspect::LoadBalancer(spec) = &service.summary.aspect else { continue };
        let label = spec.selector.iter().next().map(|(key, value)| Mark::Label(key, value));
        for mark in label.into_iter().chain([Mark::Service(&service.object.name)]) {
            let near = candidates.get(&(&*service.account, &*service.object.namespace, mark));
            for workload in near.into_iter().flatten().filter(|workload| service.balances(workload)) {
                balancers.entry(ObjectPlace::of(workload)).or_default().push(service);
                balanced.entry(ObjectPlace::of(service)).or_default().push(*workload);
            }
        }
    }
    (balancers, balanced)
}

/// Key by which a service can match a workload.
#[derive(PartialEq, Eq, Hash)]
enum Mark<'a> {
    Label(&'a str, &'a str),
    Service(&'a str),
}

// === impl Mark ===

impl<'a> Mark<'a> {
    fn of(kind: &Kind, workload: &'a Workload) -> Vec<Self> {
        if kind.is("replicaSet") {
            workload.pod_labels.iter().map(|(key, value)| Self::Label(key, value)).collect()
        } else {
            workload.service.iter().map(|service| Self::Service(service)).collect()
        }
    }
}

// === impl ObjectPlace ===

impl<'a> ObjectPlace<'a> {
    fn of(row: &'a Row) -> Self {
        let object = &row.object;
        Self { account: &row.account, namespace: &object.namespace, kind: &object.kind, name: &object.name }
    }
}
