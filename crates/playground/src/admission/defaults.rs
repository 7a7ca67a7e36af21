//! Defaults that clients rely on, as the real server sets them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::pods::default_pod_spec;
use crate::object::{child, default as set, fields, metadata, text};

pub(super) fn default(kind: &str, object: &mut Value) {
    match kind {
        "Pod" => pod(object),
        "Deployment" => deployment(object),
        "ReplicaSet" | "ReplicationController" => replica_set(object),
        "StatefulSet" => stateful_set(object),
        "DaemonSet" => daemon_set(object),
        "Job" => job(object),
        "CronJob" => cron_job(object),
        "Service" => service(object),
        "Namespace" => namespace(object),
        "Secret" => secret(object),
        "PersistentVolumeClaim" => {
            set(child(object, "spec"), "volumeMode", "Filesystem");
            set(child(object, "status"), "phase", "Pending");
        }
        "PersistentVolume" => {
            let spec = child(object, "spec");
            set(spec, "volumeMode", "Filesystem");
            set(spec, "persistentVolumeReclaimPolicy", "Retain");
            set(child(object, "status"), "phase", "Pending");
        }
        "Event" => event(object),
        "Node" => node(object),
        "HorizontalPodAutoscaler" => autoscaler(object),
        "NetworkPolicy" => network_policy(object),
        "StorageClass" => {
            set(fields(object), "reclaimPolicy", "Delete");
            set(fields(object), "volumeBindingMode", "Immediate");
        }
        "PodDisruptionBudget" => {
            let status = child(object, "status");
            for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
                set(status, field, 0);
            }
        }
        "PriorityClass" => set(fields(object), "preemptionPolicy", "PreemptLowerPriority"),
        "ClusterRoleBinding" | "RoleBinding" => role_binding(object),
        "Ingress" => {
            set(child(object, "status"), "loadBalancer", json!({}));
        }
        _ => {}
    }
}

fn pod(object: &mut Value) {
    let spec = child(object, "spec");
    default_pod_spec(spec);
    set(spec, "priority", 0);
    set(spec, "enableServiceLinks", true);
    set(spec, "preemptionPolicy", "PreemptLowerPriority");
    if !spec.contains_key("tolerations") {
        let tolerate = |key: &str| {
            json!({
                "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300,
            })
        };
        spec.insert("tolerations".into(), json!([tolerate("not-ready"), tolerate("unreachable")]));
    }
    let class = super::pods::quality(spec);
    let status = child(object, "status");
    set(status, "phase", "Pending");
    set(status, "qosClass", class);
}

/// Sets the defaults of the pod template in a workload's specification.
fn template(spec: &mut Map<String, Value>) {
    let template = fields(spec.entry("template").or_insert(Value::Null));
    template.entry("metadata").or_insert_with(|| json!({}));
    default_pod_spec(fields(template.entry("spec").or_insert(Value::Null)));
}

fn deployment(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "progressDeadlineSeconds", 600);
    let strategy = fields(spec.entry("strategy").or_insert(Value::Null));
    set(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = fields(strategy.entry("rollingUpdate").or_insert(Value::Null));
        set(rolling, "maxUnavailable", "25%");
        set(rolling, "maxSurge", "25%");
    }
    template(spec);
    child(object, "status");
}

fn replica_set(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "replicas", 1);
    template(spec);
    set(child(object, "status"), "replicas", 0);
}

fn stateful_set(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "podManagementPolicy", "OrderedReady");
    set(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    );
    let strategy = fields(spec.entry("updateStrategy").or_insert(Value::Null));
    set(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        set(fields(strategy.entry("rollingUpdate").or_insert(Value::Null)), "partition", 0);
    }
    template(spec);
    if let Some(Value::Array(claims)) = spec.get_mut("volumeClaimTemplates") {
        for claim in claims {
            set(fields(claim), "apiVersion", "v1");
            set(fields(claim), "kind", "PersistentVolumeClaim");
            set(child(claim, "spec"), "volumeMode", "Filesystem");
            set(child(claim, "status"), "phase", "Pending");
        }
    }
    let status = child(object, "status");
    set(status, "replicas", 0);
    set(status, "availableReplicas", 0);
}

fn daemon_set(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "revisionHistoryLimit", 10);
    let strategy = fields(spec.entry("updateStrategy").or_insert(Value::Null));
    set(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = fields(strategy.entry("rollingUpdate").or_insert(Value::Null));
        set(rolling, "maxUnavailable", 1);
        set(rolling, "maxSurge", 0);
    }
    template(spec);
    let status = child(object, "status");
    for field in ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"] {
        set(status, field, 0);
    }
}

fn job_spec(spec: &mut Map<String, Value>) {
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".into(), 1.into());
    }
    set(spec, "parallelism", 1);
    set(spec, "backoffLimit", 6);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    set(spec, "manualSelector", false);
    set(spec, "podReplacementPolicy", "TerminatingOrFailed");
    template(spec);
}

fn job(object: &mut Value) {
    job_spec(child(object, "spec"));
    child(object, "status");
}

fn cron_job(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "concurrencyPolicy", "Allow");
    set(spec, "suspend", false);
    set(spec, "successfulJobsHistoryLimit", 3);
    set(spec, "failedJobsHistoryLimit", 1);
    let job = fields(spec.entry("jobTemplate").or_insert(Value::Null));
    job.entry("metadata").or_insert_with(|| json!({}));
    template(fields(job.entry("spec").or_insert(Value::Null)));
    child(object, "status");
}

fn service(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "type", "ClusterIP");
    set(spec, "sessionAffinity", "None");
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind != "ExternalName" {
        set(spec, "internalTrafficPolicy", "Cluster");
        let headless = spec.get("clusterIP").and_then(Value::as_str) == Some("None");
        let selects =
            spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
        if headless && !selects {
            set(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
            set(spec, "ipFamilyPolicy", "RequireDualStack");
        } else {
            set(spec, "ipFamilies", json!(["IPv4"]));
            set(spec, "ipFamilyPolicy", "SingleStack");
        }
    }
    if kind == "NodePort" || kind == "LoadBalancer" {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
    if let Some(Value::Array(ports)) = spec.get_mut("ports") {
        for port in ports {
            let port = fields(port);
            set(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_default();
            set(port, "targetPort", number);
        }
    }
    set(child(object, "status"), "loadBalancer", json!({}));
}

fn namespace(object: &mut Value) {
    let name = text(object, "/metadata/name").to_owned();
    let labels = fields(metadata(object).entry("labels").or_insert(Value::Null));
    labels.insert("kubernetes.io/metadata.name".into(), name.into());
    set(child(object, "spec"), "finalizers", json!(["kubernetes"]));
    set(child(object, "status"), "phase", "Active");
}

fn secret(object: &mut Value) {
    let fields = fields(object);
    set(fields, "type", "Opaque");
    // `stringData` is write-only; the server stores and returns it as `data`.
    if let Some(Value::Object(plain)) = fields.remove("stringData") {
        let data = crate::object::fields(fields.entry("data").or_insert(Value::Null));
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
        }
    }
}

fn event(object: &mut Value) {
    let fields = fields(object);
    set(fields, "source", json!({}));
    for field in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        fields.entry(field).or_insert(Value::Null);
    }
    set(fields, "reportingComponent", "");
    set(fields, "reportingInstance", "");
}

fn node(object: &mut Value) {
    child(object, "spec");
    let status = child(object, "status");
    set(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    let info = fields(status.entry("nodeInfo").or_insert(Value::Null));
    for field in [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ] {
        set(info, field, "");
    }
}

fn autoscaler(object: &mut Value) {
    let spec = child(object, "spec");
    set(spec, "minReplicas", 1);
    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}});
    set(spec, "metrics", json!([{"type": "Resource", "resource": cpu}]));
    let status = child(object, "status");
    set(status, "desiredReplicas", 0);
    status.entry("currentMetrics").or_insert(Value::Null);
}

fn network_policy(object: &mut Value) {
    let spec = child(object, "spec");
    let egress = spec.get("egress").is_some_and(|rules| !rules.is_null());
    set(spec, "policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
}

fn role_binding(object: &mut Value) {
    if let Some(role) = object.get_mut("roleRef") {
        set(fields(role), "apiGroup", "rbac.authorization.k8s.io");
    }
    let Some(Value::Array(subjects)) = object.get_mut("subjects") else { return };
    for subject in subjects {
        if text(subject, "/kind") != "ServiceAccount" {
            set(fields(subject), "apiGroup", "rbac.authorization.k8s.io");
        }
    }
}
