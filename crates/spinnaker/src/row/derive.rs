//! Derivation of a row from the bytes of an object.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, de::IgnoredAny};
use spindrift_model::ObjectKey;

use super::{
    Aspect, Balancer, HealthState, Labels, PodHealth, Row, RowRules, Rules, Summary, Workload,
    facts::{
        Annotations, Bare, Metadata, Object, PodStatus, PodTemplate, PolicyRule, PolicySpec, ServiceSpec,
        WorkloadSpec,
    },
};
use crate::{Coordinates, FullName, Kind, Moniker, SpinnakerKind, annotation};

impl Row {
    /// Whether objects of this kind have rows: those that change every second and are never queried have none.
    pub fn is_for(key: &ObjectKey) -> bool {
        !matches!(
            (&*key.group, &*key.kind),
            ("" | "events.k8s.io", "Event")
                | ("coordination.k8s.io", "Lease")
                | ("discovery.k8s.io", "EndpointSlice")
        )
    }

    /// Derives the row of an object; none if it has no row.
    ///
    /// An object with unexpected fields still gets a row, with fewer details: a custom resource may have any schema.
    pub fn derive(account: &Arc<str>, key: &ObjectKey, body: &[u8], rules: RowRules<'_>) -> Option<Self> {
        if !Self::is_for(key) {
            return None;
        }
        let kind = Kind::of_group(&key.group, &key.kind);
        let spinnaker_kind = rules.kinds.spinnaker_kind(&kind);
        let (api_version, metadata, mut aspect) = match spinnaker_kind {
            SpinnakerKind::ServerGroups => read::<WorkloadSpec, IgnoredAny>(body, workload)?,
            SpinnakerKind::ServerGroupManagers => read::<WorkloadSpec, IgnoredAny>(body, manager)?,
            SpinnakerKind::Instances => read::<IgnoredAny, PodStatus>(body, instance)?,
            SpinnakerKind::LoadBalancers if kind.is("service") => {
                read::<ServiceSpec, IgnoredAny>(body, balancer)?
            }
            SpinnakerKind::SecurityGroups => read::<PolicySpec, IgnoredAny>(body, policy)?,
            _ => bare(body)?,
        };
        let Metadata { uid, creation_timestamp, labels, annotations, owner_references } = metadata;
        let annotations = annotations.unwrap_or_default();
        if !is_kept(&kind, &annotations, rules) {
            return None;
        }
        let owners = owner_references.unwrap_or_default().into_iter();
        let owners: Vec<_> = owners
            .map(|owner| FullName::new(Kind::of_manifest(&owner.api_version, &owner.kind), owner.name))
            .collect();
        if let Aspect::ServerGroup(workload) = &mut aspect {
            workload.load_balancers = load_balancers(annotations.load_balancers.as_deref());
            let manages = |owner: &&FullName| {
                rules.kinds.spinnaker_kind(&owner.kind) == SpinnakerKind::ServerGroupManagers
            };
            workload.managers = owners.iter().filter(manages).map(|owner| owner.name.clone()).collect();
        }
        let moniker = Moniker::read(&kind, &key.name, |key| annotations.get(key));
        let in_application = spinnaker_kind.belongs_to_application()
            || (rules.all_applications && !is_kept_for_the_hub(&kind));
        let in_cluster = spinnaker_kind.belongs_to_cluster();
        Some(Self {
            account: account.clone(),
            application: in_application.then(|| moniker.application().map(str::to_owned)).flatten(),
            cluster: in_cluster.then(|| moniker.cluster.clone()).flatten().filter(|name| !name.is_empty()),
            owners,
            object: Coordinates::new(kind, &*key.namespace, &*key.name),
            spinnaker_kind,
            summary: Summary {
                uid: uid.into_owned(),
                api_version: api_version.to_lowercase(),
                created: creation_timestamp.as_deref().and_then(milliseconds),
                labels: Labels::of(labels),
                moniker,
                aspect,
            },
        })
    }
}

type Read<'a> = (Cow<'a, str>, Metadata<'a>, Aspect);

fn read<'a, Spec, Status>(
    body: &'a [u8],
    aspect: impl FnOnce(Option<Spec>, Option<Status>) -> Aspect,
) -> Option<Read<'a>>
where
    Spec: Deserialize<'a>,
    Status: Deserialize<'a>,
{
    let Ok(object) = serde_json::from_slice(body) else {
        let (api_version, metadata, _) = bare(body)?;
        return Some((api_version, metadata, aspect(None, None)));
    };
    let Object { api_version, metadata, spec, status } = object;
    Some((api_version, metadata, aspect(spec, status)))
}

fn bare(body: &[u8]) -> Option<Read<'_>> {
    let Bare { api_version, metadata, .. } = serde_json::from_slice(body).ok()?;
    Some((api_version, metadata, Aspect::None))
}

fn is_kept(kind: &Kind, annotations: &Annotations<'_>, rules: RowRules<'_>) -> bool {
    let ignored = annotations.ignore.as_deref().is_some_and(annotation::is_true);
    let application = || annotations.application.as_deref().and_then(annotation::unquoted);
    let managed = || {
        let has_application = || application().is_some_and(|application| !application.is_empty());
        !rules.only_managed || has_application() || is_kept_for_the_hub(kind)
    };
    !ignored && managed()
}

/// Parses a JSON list of full names and normalizes their spelling.
fn load_balancers(list: Option<&str>) -> Vec<String> {
    let listed: Vec<String> = list.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
    let spelled = |name: String| FullName::parse(&name).map_or(name, |name| name.to_string());
    listed.into_iter().map(spelled).collect()
}

/// Whether the hub needs rows of this kind whoever manages the object: namespaces and custom resource definitions.
/// Clouddriver keeps neither, so that they add no applications.
fn is_kept_for_the_hub(kind: &Kind) -> bool {
    kind.is("namespace") || kind.is("customResourceDefinition")
}

/// Milliseconds of a timestamp.
pub(crate) fn milliseconds(timestamp: &str) -> Option<i64> {
    timestamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

// === impl Annotations ===

impl Annotations<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            annotation::moniker::APPLICATION => self.application.as_deref(),
            annotation::moniker::CLUSTER => self.cluster.as_deref(),
            annotation::moniker::STACK => self.stack.as_deref(),
            annotation::moniker::DETAIL => self.detail.as_deref(),
            annotation::moniker::SEQUENCE => self.sequence.as_deref(),
            annotation::DEPLOYMENT_REVISION => self.revision.as_deref(),
            _ => None,
        }
    }
}

// === aspects ===

fn workload(spec: Option<WorkloadSpec>, _: Option<IgnoredAny>) -> Aspect {
    let Some(WorkloadSpec { replicas, service_name, template, job_template }) = spec else {
        return Aspect::ServerGroup(Workload::default());
    };
    let of_job = job_template.and_then(|template| template.spec?.template);
    let Some(PodTemplate { metadata, spec }) = template.or(of_job) else {
        return Aspect::ServerGroup(Workload { desired: replicas.unwrap_or(0), ..Workload::default() });
    };
    let containers = spec.into_iter().flat_map(|spec| [spec.containers, spec.init_containers]);
    let mut images: Vec<String> = Vec::new();
    for image in containers.flatten().flatten().filter_map(|container| container.image) {
        if !images.contains(&image) {
            images.push(image);
        }
    }
    Aspect::ServerGroup(Workload {
        desired: replicas.unwrap_or(0),
        images,
        pod_labels: metadata.and_then(|metadata| metadata.labels).unwrap_or_default(),
        service: service_name,
        ..Workload::default()
    })
}

/// Details of a server group manager, which is shown as a server group when requested by name. Load balancers do not select
/// its pods.
fn manager(spec: Option<WorkloadSpec>, status: Option<IgnoredAny>) -> Aspect {
    match workload(spec, status) {
        Aspect::ServerGroup(workload) => {
            Aspect::ServerGroup(Workload { pod_labels: BTreeMap::new(), service: None, ..workload })
        }
        other => other,
    }
}

fn instance(_: Option<IgnoredAny>, status: Option<PodStatus>) -> Aspect {
    let (phase, containers) = status.map_or((None, None), |status| (status.phase, status.container_statuses));
    let pod = match phase.unwrap_or_default().to_lowercase().as_str() {
        "pending" => HealthState::Down,
        "running" => HealthState::Up,
        _ => HealthState::Unknown,
    };
    let containers = containers.unwrap_or_default().into_iter();
    let health = |ready| if ready { HealthState::Up } else { HealthState::Down };
    let containers = containers.map(|container| (container.name, health(container.ready))).collect();
    Aspect::Instance(PodHealth { pod, containers })
}

fn balancer(spec: Option<ServiceSpec>, _: Option<IgnoredAny>) -> Aspect {
    let selector = spec.and_then(|spec| spec.selector).unwrap_or_default();
    Aspect::LoadBalancer(Balancer { selector })
}

fn policy(spec: Option<PolicySpec>, _: Option<IgnoredAny>) -> Aspect {
    let (ingress, egress) = spec.map_or((None, None), |spec| (spec.ingress, spec.egress));
    let ports = |rules: Option<Vec<PolicyRule>>| {
        rules.unwrap_or_default().into_iter().flat_map(|rule| rule.ports.unwrap_or_default()).collect()
    };
    Aspect::SecurityGroup(Rules { inbound: ports(ingress), outbound: ports(egress) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::KindRules;

    fn derive(body: &Value, only_managed: bool, all_applications: bool) -> Option<Row> {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let key = ObjectKey {
            group: group.into(),
            kind: text("/kind").into(),
            namespace: text("/metadata/namespace").into(),
            name: text("/metadata/name").into(),
        };
        let kinds = KindRules::default();
        let rules = RowRules { kinds: &kinds, only_managed, all_applications };
        Row::derive(&"account1".into(), &key, body.to_string().as_bytes(), rules)
    }

    fn pod(annotations: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "shop-web-5c6-abc", "namespace": "web", "uid": "u1",
                "creationTimestamp": "2026-11-15T20:37:59Z", "labels": {"app": "shop"}, "annotations": annotations,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop-web-5c6"}]},
            "status": {"phase": "Running",
                "containerStatuses": [{"name": "main", "ready": true}, {"name": "side", "ready": false}]}})
    }

    #[test]
    fn a_pod_is_kept_with_its_owner_and_its_health() {
        let row = derive(&pod(json!({"moniker.spinnaker.io/application": "shop"})), true, false).unwrap();
        assert_eq!(row.owners, [FullName::parse("rs shop-web-5c6").unwrap()]);
        assert_eq!(
            (row.application.as_deref(), row.cluster.as_deref()),
            (None, None),
            "pods belong by their owners"
        );
        let health = PodHealth {
            pod: HealthState::Up,
            containers: vec![("main".into(), HealthState::Up), ("side".into(), HealthState::Down)],
        };
        assert_eq!(row.summary.aspect, Aspect::Instance(health));
        assert_eq!(row.summary.created, Some(1_794_775_079_000));
        let text = serde_json::to_string(&row.summary).unwrap();
        assert!(text.len() < 300, "{} bytes: {text}", text.len());
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), row.summary);
    }

    #[test]
    fn ignored_and_unmanaged_objects_have_no_row() {
        assert!(derive(&pod(json!({"caching.spinnaker.io/ignore": "true"})), false, false).is_none());
        assert!(derive(&pod(json!({"caching.spinnaker.io/ignore": "no"})), false, false).is_some());
        assert!(derive(&pod(json!({})), true, false).is_none(), "not managed");
        for unnamed in ["", "\"\"", "\"bro\"ken\""] {
            let pod = pod(json!({"moniker.spinnaker.io/application": unnamed}));
            assert!(derive(&pod, true, false).is_none() && derive(&pod, false, false).is_some(), "{unnamed}");
        }
        assert!(derive(&json!(7), false, false).is_none());
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.17", "uid": "u"}});
        assert!(derive(&event, false, false).is_none(), "nobody looks for it");
    }

    #[test]
    fn namespaces_and_definitions_always_have_rows() {
        let definition = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        for (api_version, kind) in [("v1", "Namespace"), definition] {
            let body =
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "shop", "uid": "u"}});
            assert!(derive(&body, true, false).is_some(), "{kind}");
            assert_eq!(derive(&body, false, true).unwrap().application, None, "{kind}");
        }
    }

    #[test]
    fn every_kind_has_an_application_if_the_account_is_configured_so() {
        let row = derive(&pod(json!({})), false, true).unwrap();
        assert_eq!(row.application.as_deref(), Some("shop"));
        assert_eq!(row.cluster, None);
    }

    #[test]
    fn a_cron_job_has_the_images_of_its_jobs() {
        let body = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "shop-cron", "uid": "u"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"image": "busybox:1.36"},
                {"image": "busybox:1.36"}], "initContainers": [{"image": "prep"}]}}}}}});
        let row = derive(&body, false, false).unwrap();
        assert_eq!(row.workload().unwrap().images, ["busybox:1.36", "prep"]);
        assert_eq!(row.cluster.as_deref(), Some("shop-cron"));
    }

    #[test]
    fn a_deployment_has_the_size_and_the_images_of_its_pods() {
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "uid": "u"},
            "spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": "shop"}},
                "spec": {"containers": [{"image": "shop:1"}]}}}});
        let row = derive(&body, false, false).unwrap();
        let workload = Workload { desired: 3, images: vec!["shop:1".into()], ..Workload::default() };
        assert_eq!(row.workload(), Some(&workload), "nothing balances it");
    }

    #[test]
    fn load_balancers_are_named_alike_however_they_are_written() {
        let listed = r#"["SVC shop", "service web", "any thing else"]"#;
        let body = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "shop-v000", "uid": "u",
            "annotations": {"traffic.spinnaker.io/load-balancers": listed}}});
        let row = derive(&body, false, false).unwrap();
        assert_eq!(row.workload().unwrap().load_balancers, ["service shop", "service web", "any thing else"]);
    }

    #[test]
    fn an_object_with_unexpected_fields_has_a_row() {
        let body = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "odd", "uid": "u"},
            "spec": {"replicas": "three", "template": 7}});
        let row = derive(&body, false, false).unwrap();
        assert_eq!(row.workload(), Some(&Workload::default()));
        assert_eq!(row.application.as_deref(), Some("odd"));
    }

    #[test]
    fn a_service_balances_workloads_with_all_its_labels() {
        let service = |selector: Value| {
            let body = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "uid": "u"},
                "spec": {"selector": selector}});
            derive(&body, false, false).unwrap()
        };
        let workload = |kind: &str| {
            let body = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w", "uid": "u"},
                "spec": {"serviceName": "svc", "template": {"metadata": {"labels": {"app": "w", "lb": "x"}}}}});
            derive(&body, false, false).unwrap()
        };
        assert!(service(json!({"app": "w", "lb": "x"})).balances(&workload("ReplicaSet")));
        assert!(!service(json!({"app": "w", "lb": "y"})).balances(&workload("ReplicaSet")));
        assert!(!service(json!({})).balances(&workload("ReplicaSet")), "no selector selects nothing");
        assert!(service(json!({})).balances(&workload("StatefulSet")), "by name");
        assert!(!service(json!({"app": "w"})).balances(&workload("DaemonSet")));
    }
}
