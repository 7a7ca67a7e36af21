//! Workloads as people deploy them: with probes, sidecars, variables, volumes and the annotations of the usual tools.

use fastrand::Rng;
use serde_json::{Map, Value, json};

pub(crate) const NAMESPACES: [&str; 4] = ["production", "staging", "platform", "data"];

const WORDS: [&str; 24] = [
    "orders", "billing", "ledger", "gateway", "mailer", "session", "profile", "indexer", "report", "audit",
    "quota", "image", "upload", "notify", "price", "stock", "review", "auth", "token", "worker", "feed",
    "geo", "chat", "sync",
];

const VARIABLES: [(&str, &str); 22] = [
    ("LOG_LEVEL", "info"),
    ("LOG_FORMAT", "json"),
    ("HTTP_PORT", "8080"),
    ("PORT", "3000"),
    ("TZ", "UTC"),
    ("NODE_ENV", "production"),
    ("SPRING_PROFILES_ACTIVE", "production"),
    ("JAVA_TOOL_OPTIONS", "-XX:MaxRAMPercentage=75 -XX:+ExitOnOutOfMemoryError"),
    ("JAVA_OPTS", "-Xms512m -Xmx1g -XX:+UseG1GC"),
    ("GOMAXPROCS", "2"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel-collector.observability.svc.cluster.local:4317"),
    ("OTEL_SERVICE_NAME", "service"),
    ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=production,service.namespace=default"),
    ("KAFKA_BOOTSTRAP_SERVERS", "kafka-0.kafka:9092,kafka-1.kafka:9092,kafka-2.kafka:9092"),
    ("DATABASE_URL", "postgres://postgres.databases.svc.cluster.local:5432/app"),
    ("DATABASE_HOST", "postgres-primary.databases.svc.cluster.local"),
    ("DATABASE_POOL_SIZE", "20"),
    ("REDIS_HOST", "redis-master.databases.svc.cluster.local"),
    ("AWS_REGION", "eu-central-1"),
    ("FEATURE_FLAGS_URL", "http://flags.platform.svc.cluster.local/api/v2"),
    ("GRACE_PERIOD_SECONDS", "25"),
    ("SENTRY_ENVIRONMENT", "production"),
];

/// Objects of one workload: the workload itself and those around it.
pub(crate) fn workload(seed: u64, number: u64) -> Vec<Value> {
    let mut rng = Rng::with_seed(seed << 32 | number);
    let word = |rng: &mut Rng| *rng.choice(&WORDS).expect("there are words");
    let name = format!("{}-{}-{}", word(&mut rng), word(&mut rng), number);
    let namespace = *rng.choice(&NAMESPACES).expect("there are namespaces");
    let release = format!("{}.{}.{}", rng.u8(1..5), rng.u8(..40), rng.u8(..20));
    let labels = labels(&mut rng, &name, &release);
    let selector = json!({ "app.kubernetes.io/name": name });
    let metadata = |suffix: &str| {
        json!({ "name": format!("{name}{suffix}"), "namespace": namespace, "labels": labels,
            "annotations": { "meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace } })
    };
    let template = json!({
        "metadata": { "labels": labels, "annotations": annotations(&mut rng, &name) },
        "spec": pod(&mut rng, &name, &release),
    });
    let replicas = rng.u8(1..4);
    let matches = json!({ "matchLabels": selector });
    let spec = json!({ "replicas": replicas, "selector": matches, "template": template });
    let thing = match number % 8 {
        0 => json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata(""),
            "spec": { "replicas": replicas, "selector": matches, "template": template, "serviceName": name } }),
        1 => json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata(""),
            "spec": { "selector": matches, "template": template } }),
        2 => cron_job(&metadata(""), template),
        _ => json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(""), "spec": spec }),
    };
    let ports = json!([{ "name": "http", "port": 80, "targetPort": "http", "protocol": "TCP" }]);
    let host = format!("{name}.example.com");
    let backend = json!({ "service": { "name": name, "port": { "name": "http" } } });
    let path = json!({ "path": "/", "pathType": "Prefix", "backend": backend });
    let rules = json!([{ "host": host, "http": { "paths": [path] } }]);
    vec![
        thing,
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata(""),
            "spec": { "selector": selector, "ports": ports } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("-config"),
            "data": { "application.yml": format!("server:\n  port: 8080\nname: {name}\n") } }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("") }),
        json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata(""),
            "spec": { "ingressClassName": "nginx", "rules": rules,
                "tls": [{ "hosts": [host], "secretName": format!("{name}-tls") }] } }),
        json!({ "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata(""),
            "spec": { "podSelector": matches, "policyTypes": ["Ingress"],
                "ingress": [{ "from": [{ "podSelector": {} }], "ports": [{ "port": 8080, "protocol": "TCP" }] }] } }),
        json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata(""),
            "spec": { "minReplicas": 1, "maxReplicas": 5,
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name } } }),
        json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata(""),
            "spec": { "minAvailable": 1, "selector": matches } }),
    ]
}

/// A pod as a replica set's controller makes it, and the status that a kubelet gives it; on a node without kubelet.
pub(crate) fn pod_of_a_kubelet(seed: u64, number: u64) -> (Value, Value) {
    let mut rng = Rng::with_seed((seed << 32 | number) ^ u64::MAX);
    let word = *rng.choice(&WORDS).expect("there are words");
    let owner = format!("{word}-{:09x}", rng.u64(..1 << 36));
    let name = format!("{owner}-{:05x}", rng.u32(..1 << 20));
    let release = format!("{}.{}.{}", rng.u8(1..5), rng.u8(..40), rng.u8(..20));
    let mut spec = pod(&mut rng, word, &release);
    spec["nodeName"] =
        json!(format!("ip-10-{}-{}-{}.eu-central-1.compute.internal", rng.u8(..), rng.u8(..), rng.u8(..)));
    let metadata = json!({
        "name": name,
        "namespace": *rng.choice(&NAMESPACES).expect("there are namespaces"),
        "labels": labels(&mut rng, word, &release),
        "annotations": annotations(&mut rng, word),
        "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": uuid(&mut rng),
            "controller": true, "blockOwnerDeletion": true }],
    });
    let at =
        format!("2026-01-{:02}T{:02}:{:02}:{:02}Z", rng.u8(1..29), rng.u8(..24), rng.u8(..60), rng.u8(..60));
    let condition =
        |kind| json!({ "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": at });
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let address = format!("10.{}.{}.{}", rng.u8(64..128), rng.u8(..), rng.u8(1..));
    let containers = |rng: &mut Rng, containers: &Value, state: &Value| -> Vec<Value> {
        let status = |container: &Value| {
            let (image, digest, id) =
                (container["image"].as_str().unwrap_or_default(), digest(rng), digest(rng));
            json!({ "name": container["name"], "image": image, "imageID": format!("{image}@sha256:{digest}"),
                "containerID": format!("containerd://{id}"), "ready": true, "started": true, "restartCount": rng.u8(..3),
                "state": state, "lastState": {} })
        };
        containers.as_array().into_iter().flatten().map(status).collect()
    };
    let running = json!({ "running": { "startedAt": at } });
    let terminated =
        json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at } });
    let status = json!({
        "phase": "Running",
        "hostIP": "10.12.0.7",
        "hostIPs": [{ "ip": "10.12.0.7" }],
        "podIP": address,
        "podIPs": [{ "ip": address }],
        "startTime": at,
        "qosClass": "Burstable",
        "conditions": conditions.map(condition),
        "initContainerStatuses": containers(&mut rng, &spec["initContainers"], &terminated),
        "containerStatuses": containers(&mut rng, &spec["containers"], &running),
    });
    (json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }), status)
}

fn uuid(rng: &mut Rng) -> String {
    let (a, b, c) = (rng.u32(..), rng.u16(..), rng.u64(..1 << 48));
    format!("{a:08x}-{b:04x}-4{:03x}-8{:03x}-{c:012x}", rng.u16(..1 << 12), rng.u16(..1 << 12))
}

fn cron_job(metadata: &Value, mut template: Value) -> Value {
    template["spec"]["restartPolicy"] = json!("OnFailure");
    let job = json!({ "spec": { "backoffLimit": 2, "template": template } });
    json!({ "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata,
        "spec": { "schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": job } })
}

fn labels(rng: &mut Rng, name: &str, release: &str) -> Value {
    let mut labels = Map::new();
    for (key, value) in [
        ("app.kubernetes.io/name", name),
        ("app.kubernetes.io/instance", name),
        ("app.kubernetes.io/version", release),
        ("app.kubernetes.io/part-of", "platform"),
        ("app.kubernetes.io/component", "backend"),
        ("app.kubernetes.io/managed-by", if rng.bool() { "Helm" } else { "spinnaker" }),
        ("helm.sh/chart", "service-4.2.1"),
        ("app", name),
        ("team", "payments"),
        ("tier", "backend"),
        ("version", "v1"),
    ] {
        if key == "app.kubernetes.io/name" || rng.u8(..4) > 0 {
            labels.insert(key.to_owned(), json!(value));
        }
    }
    labels.into()
}

fn annotations(rng: &mut Rng, name: &str) -> Value {
    let digest = digest(rng);
    let status = r#"{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":["istio-envoy"],"revision":"default"}"#;
    let mut annotations = Map::new();
    for (key, value) in [
        ("prometheus.io/scrape", "true"),
        ("prometheus.io/port", "15020"),
        ("prometheus.io/path", "/metrics"),
        ("checksum/config", &*digest),
        ("artifact.spinnaker.io/name", name),
        ("artifact.spinnaker.io/type", "kubernetes/deployment"),
        ("artifact.spinnaker.io/location", "production"),
        ("artifact.spinnaker.io/version", ""),
        ("moniker.spinnaker.io/application", name),
        ("moniker.spinnaker.io/cluster", &*format!("deployment {name}")),
        ("sidecar.istio.io/status", status),
        ("kubectl.kubernetes.io/restartedAt", "2026-01-07T10:21:21Z"),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"),
    ] {
        if rng.u8(..3) > 0 {
            annotations.insert(key.to_owned(), json!(value));
        }
    }
    annotations.into()
}

fn pod(rng: &mut Rng, name: &str, release: &str) -> Value {
    let mut containers = vec![main_container(rng, name, release)];
    let mut init = vec![];
    let config = json!({ "name": "config", "mountPath": "/etc/config", "readOnly": true });
    if rng.u8(..3) > 0 {
        containers.push(proxy());
        init.push(json!({ "name": "istio-init", "image": "docker.io/istio/proxyv2:1.28.1", "volumeMounts": [config],
            "args": ["istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337", "-m", "REDIRECT", "-i", "*", "-x", "",
                "-b", "*", "-d", "15090,15021,15020"] }));
    }
    json!({
        "initContainers": init,
        "containers": containers,
        "volumes": [
            { "name": "config", "configMap": { "name": format!("{name}-config") } },
            { "name": "scratch", "emptyDir": {} },
            { "name": "istio-envoy", "emptyDir": { "medium": "Memory" } },
        ],
        "terminationGracePeriodSeconds": *rng.choice(&[30, 45, 60]).expect("three"),
        "securityContext": { "runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 1000,
            "seccompProfile": { "type": "RuntimeDefault" } },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": { "matchLabels": { "app": name } } }],
        "imagePullSecrets": [{ "name": "registry-credentials" }],
        "tolerations": [{ "key": "dedicated", "operator": "Exists", "effect": "NoSchedule" }],
    })
}

fn main_container(rng: &mut Rng, name: &str, release: &str) -> Value {
    let mut variables: Vec<_> = VARIABLES
        .iter()
        .filter(|_| rng.bool())
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    for (variable, path) in
        [("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"), ("POD_IP", "status.podIP")]
    {
        variables.push(json!({ "name": variable, "valueFrom": { "fieldRef": { "fieldPath": path } } }));
    }
    let password = json!({ "secretKeyRef": { "name": format!("{name}-database"), "key": "password" } });
    variables.push(json!({ "name": "DATABASE_PASSWORD", "valueFrom": password }));
    let registry =
        *rng.choice(&["registry.example.com/shop", "ghcr.io/example", "docker.io/library"]).expect("three");
    json!({
        "name": name,
        "image": format!("{registry}/{name}:{release}"),
        "ports": [{ "name": "http", "containerPort": 8080 }, { "name": "metrics", "containerPort": 9090 }],
        "env": variables,
        "envFrom": [{ "configMapRef": { "name": format!("{name}-env"), "optional": true } }],
        "resources": { "requests": { "cpu": "100m", "memory": "256Mi" }, "limits": { "cpu": "1", "memory": "1Gi" } },
        "livenessProbe": { "httpGet": { "path": "/healthz", "port": "http" }, "periodSeconds": 10 },
        "readinessProbe": { "httpGet": { "path": "/readyz", "port": "http" }, "initialDelaySeconds": 5 },
        "securityContext": { "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] } },
        "volumeMounts": [
            { "name": "config", "mountPath": "/etc/config", "readOnly": true },
            { "name": "scratch", "mountPath": "/tmp" },
        ],
    })
}

fn proxy() -> Value {
    json!({
        "name": "istio-proxy",
        "image": "docker.io/istio/proxyv2:1.28.1",
        "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--proxyLogLevel=warning",
            "--proxyComponentLogLevel=misc:error", "--log_output_level=default:info"],
        "env": [
            { "name": "PILOT_CERT_PROVIDER", "value": "istiod" },
            { "name": "CA_ADDR", "value": "istiod.istio-system.svc:15012" },
            { "name": "ISTIO_META_CLUSTER_ID", "value": "Kubernetes" },
            { "name": "ISTIO_META_MESH_ID", "value": "cluster.local" },
            { "name": "TRUST_DOMAIN", "value": "cluster.local" },
        ],
        "ports": [{ "name": "http-envoy-prom", "containerPort": 15090, "protocol": "TCP" }],
        "readinessProbe": { "httpGet": { "path": "/healthz/ready", "port": 15021 }, "periodSeconds": 15 },
        "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "cpu": "2", "memory": "1Gi" } },
        "volumeMounts": [{ "name": "istio-envoy", "mountPath": "/etc/istio/proxy" }],
    })
}

fn digest(rng: &mut Rng) -> String {
    format!("{:032x}{:032x}", rng.u128(..), rng.u128(..))
}
