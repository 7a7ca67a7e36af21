//! One pod of a shop: a web server and its proxy, with all that controllers, injectors and a kubelet add.

use serde_json::{Value, json};

/// A pod and the status it is to have.
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) pod: Value,
    pub(super) status: Value,
}

/// Values that distinguish a pod from others; the same in every run.
struct Identity {
    app: &'static str,
    name: String,
    namespace: String,
    /// Of the replica set that owns it.
    template_hash: String,
    owner: String,
    node: String,
    address: String,
    release: String,
    digest: String,
    minute: usize,
}

const APPS: [&str; 8] =
    ["cart", "catalog", "checkout", "customer", "payment", "search", "shipping", "storefront"];

const PROXY: &str = "registry.example.com/istio/proxyv2:1.28.1";

const VARIABLES: [(&str, &str); 12] = [
    ("HTTP_PORT", "8080"),
    ("LOG_LEVEL", "info"),
    ("LOG_FORMAT", "json"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.observability.svc.cluster.local:4317"),
    ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=production,service.namespace=shop"),
    ("DATABASE_HOST", "orders-primary.databases.svc.cluster.local"),
    ("DATABASE_POOL_SIZE", "20"),
    ("KAFKA_BOOTSTRAP_SERVERS", "kafka-0.kafka:9092,kafka-1.kafka:9092,kafka-2.kafka:9092"),
    ("FEATURE_FLAGS_URL", "http://flags.platform.svc.cluster.local/api/v2"),
    ("JAVA_TOOL_OPTIONS", "-XX:MaxRAMPercentage=75 -XX:+ExitOnOutOfMemoryError"),
    ("GRACE_PERIOD_SECONDS", "25"),
    ("TZ", "UTC"),
];

/// The name of a pod, such as `checkout-5f1c09a2e-00042`.
pub(super) fn name(number: usize) -> String {
    Identity::new(number, "").name
}

// === impl Manifest ===

impl Manifest {
    /// A pod whose container has started again so often.
    pub(super) fn new(number: usize, namespace: &str, restarts: usize) -> Self {
        let identity = Identity::new(number, namespace);
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": identity.metadata(),
            "spec": identity.spec(),
        });
        Self { pod, status: identity.status(restarts), name: identity.name }
    }
}

// === impl Identity ===

impl Identity {
    fn new(number: usize, namespace: &str) -> Self {
        let replica_set = number / 25;
        let app = APPS[replica_set % APPS.len()];
        let mut of_set = fastrand::Rng::with_seed(replica_set as u64);
        let template_hash = format!("{:09x}", of_set.u64(..1 << 36));
        let owner = uuid(&mut of_set);
        let release = format!("2.{}.{}", of_set.u8(..40), of_set.u8(..20));
        let digest = format!("{:032x}{:032x}", of_set.u128(..), of_set.u128(..));
        let mut of_pod = fastrand::Rng::with_seed(number as u64 + (1 << 32));
        Self {
            app,
            name: format!("{app}-{template_hash}-{number:05}"),
            namespace: namespace.to_owned(),
            template_hash,
            owner,
            node: format!("ip-10-12-{}-{}.eu-central-1.compute.internal", of_pod.u8(..4), of_pod.u8(..)),
            address: format!("10.{}.{}.{}", of_pod.u8(64..128), of_pod.u8(..), of_pod.u8(1..)),
            release,
            digest,
            minute: number % 60,
        }
    }

    fn metadata(&self) -> Value {
        let Self { app, name, namespace, template_hash, owner, release, digest, .. } = self;
        json!({
            "name": name,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/instance": format!("{app}-production"),
                "app.kubernetes.io/version": release,
                "app.kubernetes.io/part-of": "shop",
                "app.kubernetes.io/managed-by": "spinnaker",
                "pod-template-hash": template_hash,
                "topology.istio.io/subnet": "eu-central-1a",
            },
            "annotations": {
                "artifact.spinnaker.io/name": app,
                "artifact.spinnaker.io/version": release,
                "checksum/config": digest,
                "moniker.spinnaker.io/cluster": format!("deployment {app}"),
                "prometheus.io/path": "/metrics",
                "prometheus.io/port": "15020",
                "prometheus.io/scrape": "true",
                "sidecar.istio.io/status": r#"{"initContainers":["istio-init"],"containers":["istio-proxy"],"revision":"default"}"#,
            },
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": format!("{app}-{template_hash}"),
                "uid": owner,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        })
    }

    fn spec(&self) -> Value {
        let Self { app, node, release, .. } = self;
        let mut variables: Vec<_> =
            VARIABLES.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        variables
            .push(json!({ "name": "POD_IP", "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } }));
        let password = json!({ "secretKeyRef": { "name": format!("{app}-database"), "key": "password" } });
        variables.push(json!({ "name": "DATABASE_PASSWORD", "valueFrom": password }));
        let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "http" }, "periodSeconds": 10 });
        let config = json!({ "name": "config", "mountPath": "/etc/shop", "readOnly": true });
        let outgoing =
            ["istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337", "-m", "REDIRECT", "-i", "*"];
        json!({
            "nodeName": node,
            "initContainers": [{ "name": "istio-init", "image": PROXY, "args": outgoing, "volumeMounts": [config] }],
            "containers": [
                {
                    "name": app,
                    "image": format!("registry.example.com/shop/{app}:{release}"),
                    "ports": [{ "name": "http", "containerPort": 8080 }, { "name": "admin", "containerPort": 8081 }],
                    "env": variables,
                    "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
                    "livenessProbe": probe("/healthz"),
                    "readinessProbe": probe("/readyz"),
                    "securityContext": { "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true },
                    "volumeMounts": [config, { "name": "scratch", "mountPath": "/tmp" }],
                },
                {
                    "name": "istio-proxy",
                    "image": PROXY,
                    "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
                    "env": [
                        { "name": "CA_ADDR", "value": "istiod.istio-system.svc:15012" },
                        { "name": "ISTIO_META_CLUSTER_ID", "value": "eu-central-1-production" },
                        { "name": "ISTIO_META_WORKLOAD_NAME", "value": app },
                        { "name": "TRUST_DOMAIN", "value": "cluster.local" },
                    ],
                    "readinessProbe": probe("/healthz/ready"),
                    "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
                },
            ],
            "volumes": [
                { "name": "config", "configMap": { "name": format!("{app}-config") } },
                { "name": "scratch", "emptyDir": {} },
            ],
        })
    }

    fn status(&self, restarts: usize) -> Value {
        let Self { app, address, release, digest, minute, .. } = self;
        let at = format!("2026-01-07T10:{minute:02}:21Z");
        let restarted_at =
            format!("2026-01-07T{:02}:{minute:02}:{:02}Z", 11 + restarts / 60 % 13, restarts % 60);
        let last_start = if restarts == 0 { &at } else { &restarted_at };
        let condition = |kind| json!({ "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": last_start });
        let container = |name: &str, image: &str, restarts: usize, at: &str| {
            json!({
                "name": name,
                "image": image,
                "imageID": format!("{image}@sha256:{digest}"),
                "containerID": format!("containerd://{digest}"),
                "ready": true,
                "started": true,
                "restartCount": restarts,
                "state": { "running": { "startedAt": at } },
                "lastState": {},
            })
        };
        let conditions =
            ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
                .map(condition);
        json!({
            "phase": "Running",
            "hostIP": "10.12.0.7",
            "podIP": address,
            "podIPs": [{ "ip": address }],
            "startTime": at,
            "conditions": conditions,
            "initContainerStatuses": [container("istio-init", PROXY, 0, &at)],
            "containerStatuses": [
                container(app, &format!("registry.example.com/shop/{app}:{release}"), restarts, last_start),
                container("istio-proxy", PROXY, 0, &at),
            ],
        })
    }
}

fn uuid(rng: &mut fastrand::Rng) -> String {
    let (a, b, c) = (rng.u32(..), rng.u16(..), rng.u64(..1 << 48));
    format!("{a:08x}-{b:04x}-4{:03x}-8{:03x}-{c:012x}", rng.u16(..1 << 12), rng.u16(..1 << 12))
}
