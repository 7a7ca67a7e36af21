//! Fields of objects from which rows are derived. Everything else is skipped unparsed, above all annotations that hold whole
//! configurations.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Object<'a, Spec, Status> {
    #[serde(borrow, default)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) metadata: Metadata<'a>,
    pub(super) spec: Option<Spec>,
    pub(super) status: Option<Status>,
}

pub(super) type Bare<'a> = Object<'a, IgnoredAny, IgnoredAny>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) labels: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<Annotations<'a>>,
    #[serde(borrow)]
    pub(super) owner_references: Option<Vec<OwnerReference<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Annotations<'a> {
    #[serde(borrow, rename = "moniker.spinnaker.io/application")]
    pub(super) application: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "moniker.spinnaker.io/cluster")]
    pub(super) cluster: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "moniker.spinnaker.io/stack")]
    pub(super) stack: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "moniker.spinnaker.io/detail")]
    pub(super) detail: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "moniker.spinnaker.io/sequence")]
    pub(super) sequence: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "deployment.kubernetes.io/revision")]
    pub(super) revision: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "traffic.spinnaker.io/load-balancers")]
    pub(super) load_balancers: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "caching.spinnaker.io/ignore")]
    pub(super) ignore: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerReference<'a> {
    #[serde(borrow, default)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadSpec {
    pub(super) replicas: Option<i64>,
    pub(super) service_name: Option<String>,
    pub(super) template: Option<PodTemplate>,
    pub(super) job_template: Option<JobTemplate>,
}

#[derive(Deserialize)]
pub(super) struct JobTemplate {
    pub(super) spec: Option<JobSpec>,
}

#[derive(Deserialize)]
pub(super) struct JobSpec {
    pub(super) template: Option<PodTemplate>,
}

#[derive(Deserialize)]
pub(super) struct PodTemplate {
    pub(super) metadata: Option<PodMetadata>,
    pub(super) spec: Option<PodSpec>,
}

#[derive(Deserialize)]
pub(super) struct PodMetadata {
    pub(super) labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) containers: Option<Vec<Container>>,
    pub(super) init_containers: Option<Vec<Container>>,
}

#[derive(Deserialize)]
pub(super) struct Container {
    pub(super) image: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodStatus {
    pub(super) phase: Option<String>,
    pub(super) container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Deserialize)]
pub(super) struct ContainerStatus {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) ready: bool,
}

#[derive(Deserialize)]
pub(super) struct ServiceSpec {
    pub(super) selector: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
pub(super) struct PolicySpec {
    pub(super) ingress: Option<Vec<PolicyRule>>,
    pub(super) egress: Option<Vec<PolicyRule>>,
}

#[derive(Deserialize)]
pub(super) struct PolicyRule {
    pub(super) ports: Option<Vec<super::PortRule>>,
}
