//! Instances: pods, with their health.

use serde::Serialize;

use super::{Common, KUBERNETES};
use crate::{Aspect, HealthState, Manifest, Moniker, PodHealth, Row};

/// A pod with all there is to show.
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

/// A pod in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstanceSummary<'a> {
    id: &'a str,
    name: String,
    health: Vec<ShortHealth>,
    health_state: HealthState,
    availability_zone: &'a str,
}

/// The health of a pod or a container; what others call `healthClass` is called `platform` here.
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

/// The log of a container, or the reason why there is none.
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
        Self {
            moniker: &row.summary.moniker,
            health: all_health(row).collect(),
            name: &row.summary.uid,
            human_readable_name: row.full_name(),
            common: Common::of(row),
            zone: &row.object.namespace,
            cloud_provider: KUBERNETES,
            health_state: overall(row),
            provider_type: KUBERNETES,
        }
    }
}

// === impl InstanceSummary ===

impl<'a> InstanceSummary<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        let short = |health: Health<'_>| ShortHealth { r#type: health.r#type, state: health.state };
        Self {
            id: &row.summary.uid,
            name: row.full_name(),
            health: all_health(row).map(short).collect(),
            health_state: overall(row),
            availability_zone: &row.object.namespace,
        }
    }
}

pub(super) fn overall(row: &Row) -> HealthState {
    health_of(row).map_or(HealthState::Unknown, PodHealth::overall)
}

/// That of the pod, then that of its containers. A load balancer shows the last: each overwrites the one before.
pub(super) fn all_health(row: &Row) -> impl Iterator<Item = Health<'_>> {
    let health = health_of(row);
    let pod = health.map(|health| Health::new(health.pod, Source::Pod, POD));
    let containers = health.into_iter().flat_map(|health| &health.containers);
    let containers = containers.map(|(name, state)| Health::new(*state, Source::Container(name), CONTAINER));
    pod.into_iter().chain(containers)
}

fn health_of(row: &Row) -> Option<&PodHealth> {
    match &row.summary.aspect {
        Aspect::Instance(health) => Some(health),
        _ => None,
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

/// The containers of a pod in the order in which their logs are shown: those that prepare it first.
pub fn containers(pod: &Manifest) -> Vec<&str> {
    let lists = ["/spec/initContainers", "/spec/containers"].into_iter();
    let containers = lists.filter_map(|list| pod.pointer(list)?.as_array()).flatten();
    containers.filter_map(|container| container.get("name")?.as_str()).collect()
}

impl Console {
    /// What is answered if there is no such pod.
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
