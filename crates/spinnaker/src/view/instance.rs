//! Instances: pods, with their health.

use serde::Serialize;

use super::{Common, KUBERNETES};
use crate::{HealthState, Manifest, Moniker, PodHealth, Row, row::ListedInstance};

/// Pod with all details.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance<'a> {
    moniker: &'a Moniker,
    health: Vec<Health<'a>>,
    /// The uid: Deck joins by it.
    name: &'a str,
    human_readable_name: String,
    #[serde(flatten)]
    common: Common<'a>,
    zone: &'a str,
    cloud_provider: &'static str,
    health_state: HealthState,
    provider_type: &'static str,
}

/// Pod in a list. There may be ten thousand, so that its parts are only serialized, never allocated.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstanceSummary<'a> {
    id: &'a str,
    name: InstanceName<'a>,
    health: ShortHealths<'a>,
    health_state: HealthState,
    availability_zone: &'a str,
}

/// `<kind> <name>`.
#[derive(Debug)]
pub(super) struct InstanceName<'a>(&'a ListedInstance<'a>);

/// Health of the pod and of its containers, without names.
#[derive(Debug)]
struct ShortHealths<'a>(&'a ListedInstance<'a>);

/// Health of a pod or a container; `platform` here is `healthClass` elsewhere.
#[derive(Debug, Serialize)]
pub(super) struct Health<'a> {
    state: HealthState,
    source: Source<'a>,
    r#type: &'static str,
    platform: &'static str,
}

#[derive(Debug, Serialize)]
struct ShortHealth {
    r#type: &'static str,
    state: HealthState,
}

/// `Pod` or `Container <name>`.
#[derive(Debug)]
enum Source<'a> {
    Pod,
    Container(&'a str),
}

/// `/instances/{account}/{region}/{id}/console`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Console {
    pub output: Vec<ConsoleOutput>,
}

/// Log of a container, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsoleOutput {
    pub name: String,
    pub output: String,
}

const POD: &str = "kubernetes/pod";
const CONTAINER: &str = "kubernetes/container";

// === impl Instance ===

impl<'a> Instance<'a> {
    pub fn new(row: &'a Row) -> Self {
        let pod = row.health().map(|health| health.pod);
        let containers = || row.health().into_iter().flat_map(PodHealth::containers);
        let states = pod.into_iter().chain(containers().map(|(_, state)| state));
        Self {
            moniker: &row.summary.moniker,
            health: all_health(pod, containers()).collect(),
            name: &row.summary.uid,
            human_readable_name: row.full_name(),
            common: Common::of(row),
            zone: &row.object.namespace,
            cloud_provider: KUBERNETES,
            health_state: HealthState::overall(states),
            provider_type: KUBERNETES,
        }
    }
}

// === impl InstanceSummary ===

impl<'a> InstanceSummary<'a> {
    pub(super) fn new(instance: &'a ListedInstance<'a>) -> Self {
        Self {
            id: &instance.uid,
            name: InstanceName::of(instance),
            health: ShortHealths(instance),
            health_state: overall(instance),
            availability_zone: &instance.namespace,
        }
    }
}

pub(super) fn overall(instance: &ListedInstance<'_>) -> HealthState {
    HealthState::overall(instance.pod().into_iter().chain(instance.containers().map(|(_, state)| state)))
}

/// Health that a load balancer shows: the last, as each overwrites the previous.
pub(super) fn last_health<'a>(instance: &'a ListedInstance<'a>) -> Option<Health<'a>> {
    all_health(instance.pod(), instance.containers()).next_back()
}

/// Health of the pod, then of its containers.
fn all_health<'a>(
    pod: Option<HealthState>,
    containers: impl DoubleEndedIterator<Item = (&'a str, HealthState)>,
) -> impl DoubleEndedIterator<Item = Health<'a>> {
    let pod = pod.map(|state| Health::new(state, Source::Pod, POD));
    let containers = containers.map(|(name, state)| Health::new(state, Source::Container(name), CONTAINER));
    pod.into_iter().chain(containers)
}

// === impl InstanceName ===

impl<'a> InstanceName<'a> {
    pub(super) fn of(instance: &'a ListedInstance<'a>) -> Self {
        Self(instance)
    }
}

impl Serialize for InstanceName<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} {}", self.0.kind, self.0.name))
    }
}

// === impl ShortHealths ===

impl Serialize for ShortHealths<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = all_health(self.0.pod(), self.0.containers());
        serializer.collect_seq(all.map(|health| ShortHealth { r#type: health.r#type, state: health.state }))
    }
}

// === impl Health ===

impl<'a> Health<'a> {
    fn new(state: HealthState, source: Source<'a>, r#type: &'static str) -> Self {
        Self { state, source, r#type, platform: "platform" }
    }
}

impl Serialize for Source<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Pod => serializer.serialize_str("Pod"),
            Self::Container(name) => serializer.collect_str(&format_args!("Container {name}")),
        }
    }
}

// === impl Console ===

/// Containers of a pod in the order of their logs: init containers first.
pub fn containers(pod: &Manifest) -> Vec<&str> {
    let lists = ["/spec/initContainers", "/spec/containers"].into_iter();
    let containers = lists.filter_map(|list| pod.pointer(list)?.as_array()).flatten();
    containers.filter_map(|container| container.get("name")?.as_str()).collect()
}

impl Console {
    /// Response if the pod does not exist.
    pub fn without_pod() -> Self {
        let output = "Failed to retrieve pod data; pod may have been deleted.".to_owned();
        Self { output: vec![ConsoleOutput { name: "Error".to_owned(), output }] }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logs_begin_with_the_containers_that_prepare_a_pod() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main"}, {"name": "side"}],
            "initContainers": [{"name": "prep"}]}});
        assert_eq!(containers(&pod.try_into().unwrap()), ["prep", "main", "side"]);
        assert!(containers(&json!({"apiVersion": "v1", "kind": "Pod"}).try_into().unwrap()).is_empty());
    }
}
