//! Rows: the little that is kept of each object beside its body, so that no list ever reads bodies.
//!
//! A row is derived when an object is written, from a partial parse of its bytes. It says where the object belongs (its
//! application and cluster), who owns it, and what lists show of it.

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

/// Another number whenever the same object is to have another row: what is stored is then derived anew.
const REVISION: u32 = 2;

/// How the objects of an account are kept.
#[derive(Debug, Clone, Copy)]
pub struct RowRules<'a> {
    pub kinds: &'a KindRules,
    /// `onlySpinnakerManaged`: what has no application by annotation is left out.
    pub only_managed: bool,
    /// `cacheAllApplicationRelationships`: everything with an application belongs to it, whatever its kind.
    pub all_applications: bool,
}

/// What names an object, and where it belongs: all that a search looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey {
    pub account: Arc<str>,
    pub object: Coordinates,
    pub spinnaker_kind: SpinnakerKind,
    pub application: Option<String>,
    pub cluster: Option<String>,
}

/// What is kept of an object. The columns are what is searched by; the summary is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub account: Arc<str>,
    pub object: Coordinates,
    pub spinnaker_kind: SpinnakerKind,
    /// The application that it is listed under.
    pub application: Option<String>,
    /// The cluster that it is a part of.
    pub cluster: Option<String>,
    /// Its owners, which are in the same namespace.
    pub owners: Vec<FullName>,
    pub summary: Summary,
}

/// What is shown of an object; as JSON it is a few hundred bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub uid: String,
    /// In lower case, as it is shown.
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

/// What is shown only of objects that Spinnaker takes for something.
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

/// A workload: how many pods it wants, of which images, and how load balancers find them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Workload {
    #[serde(default)]
    pub desired: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// The labels that its pods get.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_labels: BTreeMap<String, String>,
    /// The service that a stateful set names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The names of its owners that manage server groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<String>,
    /// The load balancers that it is to have, attached or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_balancers: Vec<String>,
}

/// The health of a pod and of its containers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodHealth {
    pub pod: HealthState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<(String, HealthState)>,
}

/// What a service selects by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Balancer {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
}

/// The ports of a network policy.
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

/// A port by number or name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Port {
    Number(i64),
    Name(String),
}

/// How an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HealthState {
    Up,
    Down,
    Unknown,
}

// === impl RowRules ===

impl RowRules<'_> {
    /// The rules as a text: the same text, the same rows.
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

    /// Views are sorted by account, then by full name, then by namespace.
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
    /// That of the containers, by name.
    pub(crate) fn containers(&self) -> impl DoubleEndedIterator<Item = (&str, HealthState)> {
        self.containers.iter().map(|(name, state)| (&**name, *state))
    }
}

// === impl HealthState ===

impl HealthState {
    /// The health of the whole: up if all that is known is up, else down if anything is.
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
