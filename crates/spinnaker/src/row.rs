//! Rows: summaries of objects that are stored beside their bodies, so that no list reads bodies.
//!
//! A row is derived when an object is written, from a partial parse of its bytes. It has the object's application, cluster
//! and owners, and the fields that lists show.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Coordinates, FullName, Kind, KindRules, Moniker, SpinnakerKind};

mod derive;
mod facts;
mod labels;
mod listed;
mod stored;

pub(crate) use derive::milliseconds;
pub use labels::Labels;
pub use listed::{InstanceRows, ListedInstance, RECORDS};
pub use stored::RowReader;

/// Revision of the derivation, to be increased whenever an object gets another row: stored rows are then re-derived.
const REVISION: u32 = 2;

/// Rules by which rows of an account are derived.
#[derive(Debug, Clone, Copy)]
pub struct RowRules<'a> {
    pub kinds: &'a KindRules,
    /// `onlySpinnakerManaged`: objects without an application by annotation are left out.
    pub only_managed: bool,
    /// `cacheAllApplicationRelationships`: objects of all kinds belong to their applications.
    pub all_applications: bool,
}

/// Columns of a row that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey {
    pub account: Arc<str>,
    pub object: Coordinates,
    pub spinnaker_kind: SpinnakerKind,
    pub application: Option<String>,
    pub cluster: Option<String>,
}

/// Row of an object. Queries use the columns; views show the summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub account: Arc<str>,
    pub object: Coordinates,
    pub spinnaker_kind: SpinnakerKind,
    /// Application under which it is listed.
    pub application: Option<String>,
    /// Cluster to which it belongs.
    pub cluster: Option<String>,
    /// Owners, which are in the same namespace.
    pub owners: Vec<FullName>,
    pub summary: Summary,
}

/// Fields of an object that views show; as JSON it is a few hundred bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub uid: String,
    /// In lower case, as in views.
    pub api_version: String,
    /// In milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    pub moniker: Moniker,
    #[serde(default, skip_serializing_if = "Aspect::is_none")]
    pub aspect: Aspect,
}

/// Fields that only classified kinds have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    #[default]
    None,
    ServerGroup(Workload),
    Instance(PodHealth),
    LoadBalancer(Balancer),
    SecurityGroup(Rules),
}

/// Workload: number of pods, images, and the labels that load balancers select by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Workload {
    #[serde(default)]
    pub desired: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Labels of its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_labels: BTreeMap<String, String>,
    /// Service of a stateful set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Names of its owners that manage server groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<String>,
    /// Load balancers in its annotation, attached or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<String>,
}

/// Health of a pod and of its containers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodHealth {
    pub pod: HealthState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<(String, HealthState)>,
}

/// Selector of a service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Balancer {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
}

/// Ports of a network policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rules {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inbound: Vec<PortRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbound: Vec<PortRule>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
}

/// Port by number or name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Port {
    Number(i64),
    Name(String),
}

/// Health of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HealthState {
    Up,
    Down,
    Unknown,
}

// === impl RowRules ===

impl RowRules<'_> {
    /// Rules as a text: equal texts give equal rows.
    pub fn text(&self) -> String {
        let Self { kinds, only_managed, all_applications } = self;
        serde_json::json!([REVISION, only_managed, all_applications, kinds.custom()]).to_string()
    }
}

// === impl RowKey ===

impl RowKey {
    /// `<kind> <name>`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.object.kind, self.object.name)
    }
}

impl From<&Row> for RowKey {
    fn from(row: &Row) -> Self {
        Self {
            account: row.account.clone(),
            object: row.object.clone(),
            spinnaker_kind: row.spinnaker_kind,
            application: row.application.clone(),
            cluster: row.cluster.clone(),
        }
    }
}

// === impl Row ===

impl Row {
    pub fn kind(&self) -> &Kind {
        &self.object.kind
    }

    /// `<kind> <name>`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.object.kind, self.object.name)
    }

    /// Sort key of views: account, full name, namespace.
    pub(crate) fn sort_key(&self) -> (&str, &Kind, &str, &str) {
        (&self.account, &self.object.kind, &self.object.name, &self.object.namespace)
    }

    pub fn workload(&self) -> Option<&Workload> {
        match &self.summary.aspect {
            Aspect::ServerGroup(workload) => Some(workload),
            _ => None,
        }
    }

    pub(crate) fn health(&self) -> Option<&PodHealth> {
        match &self.summary.aspect {
            Aspect::Instance(health) => Some(health),
            _ => None,
        }
    }

    /// Whether it is in the same namespace of the same account.
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.account, &self.object.namespace) == (&other.account, &other.object.namespace)
    }

    /// Whether a service sends traffic to a workload: by selector to replica sets, by name to stateful sets.
    pub fn balances(&self, workload: &Self) -> bool {
        let (Aspect::LoadBalancer(balancer), Some(spec)) = (&self.summary.aspect, workload.workload()) else {
            return false;
        };
        if workload.kind().is("replicaSet") {
            let mut pairs = balancer.selector.iter();
            !balancer.selector.is_empty() && pairs.all(|(key, value)| spec.pod_labels.get(key) == Some(value))
        } else {
            workload.kind().is("statefulSet")
                && self.kind().is("service")
                && spec.service.as_deref() == Some(&self.object.name)
        }
    }
}

// === impl Aspect ===

impl Aspect {
    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

// === impl PodHealth ===

impl PodHealth {
    /// Health of the containers, by name.
    pub(crate) fn containers(&self) -> impl DoubleEndedIterator<Item = (&str, HealthState)> {
        self.containers.iter().map(|(name, state)| (&**name, *state))
    }
}

// === impl HealthState ===

impl HealthState {
    /// Overall health: up if all known states are up, else down if any is down.
    pub(crate) fn overall(states: impl Iterator<Item = Self>) -> Self {
        states.filter(|state| *state != Self::Unknown).fold(Self::Unknown, |all, state| match (all, state) {
            (Self::Unknown | Self::Up, Self::Up) => Self::Up,
            _ => Self::Down,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_up_if_all_that_is_known_is_up() {
        use HealthState::{Down, Unknown, Up};
        for (states, overall) in [
            (&[][..], Unknown),
            (&[Unknown, Unknown], Unknown),
            (&[Unknown, Up, Up], Up),
            (&[Up, Unknown, Down], Down),
            (&[Down, Up], Down),
        ] {
            assert_eq!(HealthState::overall(states.iter().copied()), overall, "{states:?}");
        }
    }
}
