//! Pod template as bytes with placeholders: generating a pod costs little more than copying it.

use std::{
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
};

use bytes::Bytes;
use serde_json::{Value, json};

/// One text per program, split at the fields that differ between pods.
#[derive(Debug)]
pub struct Template {
    programs: Vec<Vec<TemplatePart>>,
    bytes: usize,
}

#[derive(Debug)]
enum TemplatePart {
    Text(Box<str>),
    Hole(Placeholder),
}

/// Field that differs between pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    Name,
    Namespace,
    Uid,
    Version,
    Node,
    Address,
    Time,
    Touches,
}

/// Values of the placeholders of one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodValues {
    pub(super) seed: u64,
    pub(super) index: u32,
    pub(super) incarnation: u32,
    pub(super) touches: u32,
    pub(super) revision: u64,
    pub(super) namespace: u32,
}

/// Marker that occurs in none of the texts.
const MARK: char = '\u{1}';

const HOLES: [(Placeholder, &str); 8] = [
    (Placeholder::Name, "name"),
    (Placeholder::Namespace, "namespace"),
    (Placeholder::Uid, "uid"),
    (Placeholder::Version, "version"),
    (Placeholder::Node, "node"),
    (Placeholder::Address, "address"),
    (Placeholder::Time, "time"),
    (Placeholder::Touches, "touches"),
];

const PROGRAMS: [&str; 8] =
    ["cart", "catalogue", "checkout", "frontend", "payment", "recommendation", "search", "shipping"];

const VARIABLES: [(&str, &str); 12] = [
    ("HTTP_PORT", "8080"),
    ("LOG_LEVEL", "info"),
    ("LOG_FORMAT", "json"),
    ("OTLP_ENDPOINT", "http://collector.monitoring.svc.cluster.local:4317"),
    ("OTLP_ATTRIBUTES", "deployment.environment=production,service.namespace=shop"),
    ("DATABASE_HOST", "catalogue-db.shop.svc.cluster.local"),
    ("DATABASE_POOL_SIZE", "20"),
    ("QUEUE_SERVERS", "queue-0.queue:9092,queue-1.queue:9092,queue-2.queue:9092"),
    ("FEATURE_FLAGS_URL", "http://flags.platform.svc.cluster.local/api/v2"),
    ("RUNTIME_OPTIONS", "--max-memory-percent=75 --exit-on-out-of-memory"),
    ("GRACE_PERIOD_SECONDS", "25"),
    ("TZ", "UTC"),
];

/// Parses the index in the path of a pod, which contains no other digits at that position.
pub(super) fn index_of(path: &str) -> Option<u32> {
    let name = path.split_once('/').map_or(path, |(_, name)| name);
    name.strip_prefix("pod-")?.split('-').next()?.parse().ok()
}

// === impl Template ===

impl Template {
    /// Template of pods with about this size; a pod without padding has some five thousand bytes.
    pub fn new(pod_bytes: usize) -> Self {
        let programs = PROGRAMS.iter().map(|program| cut(&fill(program, pod_bytes))).collect();
        Self { programs, bytes: pod_bytes }
    }

    pub(super) fn render(&self, pod: &PodValues) -> Bytes {
        let program = pod.index as usize / 25 % self.programs.len().max(1);
        let mut text = String::with_capacity(self.bytes + 512);
        for piece in self.programs.get(program).map(Vec::as_slice).unwrap_or_default() {
            match piece {
                TemplatePart::Text(piece) => text.push_str(piece),
                TemplatePart::Hole(hole) => pod.write(*hole, &mut text),
            }
        }
        Bytes::from(text)
    }
}

/// Text of a program's pods, padded to the wanted size.
fn fill(program: &str, bytes: usize) -> String {
    let bare = manifest(program, "").to_string();
    let words = "This note explains how the service is deployed, who owns it and whom to call at night. ";
    let missing = bytes.saturating_sub(bare.len());
    let notes: String = words.chars().cycle().take(missing).collect();
    manifest(program, &notes).to_string()
}

fn cut(text: &str) -> Vec<TemplatePart> {
    // serde_json writes the marker as an escape, at the beginning and at the end of a placeholder.
    let mark = r"\u0001";
    let piece = |(number, piece): (usize, &str)| match HOLES.iter().find(|(_, name)| *name == piece) {
        Some((hole, _)) if number % 2 == 1 => TemplatePart::Hole(*hole),
        _ => TemplatePart::Text(piece.into()),
    };
    text.split(mark).enumerate().map(piece).collect()
}

fn manifest(program: &str, notes: &str) -> Value {
    let hole = |name: &str| format!("{MARK}{name}{MARK}");
    let image = format!("registry.example.com/shop/{program}:2.14.3");
    let proxy = "registry.example.com/mesh/proxy:1.28.1";
    let digest = "sha256:3b1f5a0c9d2e47868f0a1b2c3d4e5f60718293a4b5c6d7e8f9012a3b4c5d6e7f";
    let time = hole("time");
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": time });
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(condition);
    let container = |name: &str, image: &str| {
        json!({
            "name": name,
            "image": image,
            "imageID": format!("{image}@{digest}"),
            "containerID": format!("containerd://{}", hole("uid")),
            "ready": true,
            "started": true,
            "restartCount": 0,
            "state": { "running": { "startedAt": time } },
            "lastState": {},
        })
    };
    let mut variables: Vec<_> =
        VARIABLES.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    variables.push(json!({ "name": "POD_IP", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "status.podIP" } } }));
    let password = json!({ "secretKeyRef": { "name": format!("{program}-database"), "key": "password" } });
    variables.push(json!({ "name": "DATABASE_PASSWORD", "valueFrom": password }));
    let probe = |path: &str| {
        json!({
            "httpGet": { "path": path, "port": "http", "scheme": "HTTP" },
            "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
        })
    };
    let config = json!({ "name": "config", "mountPath": "/etc/shop", "readOnly": true });
    json!({
        "metadata": {
            "name": hole("name"),
            "namespace": hole("namespace"),
            "uid": hole("uid"),
            "resourceVersion": hole("version"),
            "generateName": "pod-",
            "creationTimestamp": time,
            "labels": {
                "app": program,
                "app.kubernetes.io/name": program,
                "app.kubernetes.io/instance": format!("{program}-production"),
                "app.kubernetes.io/version": "2.14.3",
                "app.kubernetes.io/part-of": "shop",
                "pod-template-hash": "7c9d8f6b5d",
            },
            "annotations": {
                "checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "playground.example.com/touches": hole("touches"),
                "playground.example.com/notes": notes,
                "prometheus.io/path": "/metrics",
                "prometheus.io/port": "15020",
                "prometheus.io/scrape": "true",
            },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{program}-7c9d8f6b5d"),
                "uid": "6a1f0c1e-58d0-4d2c-8f4e-0d9b6f1f2a34", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "nodeName": hole("node"),
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": program,
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": program,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }],
                    "env": variables,
                    "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
                    "livenessProbe": probe("/healthz"),
                    "readinessProbe": probe("/readyz"),
                    "securityContext": { "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true },
                    "volumeMounts": [config, { "name": "scratch", "mountPath": "/tmp" }],
                },
                {
                    "name": "proxy",
                    "image": proxy,
                    "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
                    "readinessProbe": probe("/healthz/ready"),
                    "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
                },
            ],
            "volumes": [
                { "name": "config", "configMap": { "name": format!("{program}-config"), "defaultMode": 420 } },
                { "name": "scratch", "emptyDir": {} },
            ],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "hostIP": "10.12.0.7",
            "podIP": hole("address"),
            "podIPs": [{ "ip": hole("address") }],
            "startTime": time,
            "conditions": conditions,
            "containerStatuses": [container(program, &image), container("proxy", proxy)],
        },
    })
}

// === impl PodValues ===

impl PodValues {
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        self.write(Placeholder::Namespace, &mut path);
        path.push('/');
        self.write(Placeholder::Name, &mut path);
        path
    }

    /// Pseudo-random number that belongs to this pod and its incarnation.
    fn lot(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.index, self.incarnation).hash(&mut hasher);
        hasher.finish()
    }

    fn write(&self, hole: Placeholder, text: &mut String) {
        let lot = self.lot();
        // Names sort like their indexes: lists are in the order of names.
        let written = match hole {
            Placeholder::Name => write!(text, "pod-{:07}-{:05x}", self.index, lot & 0xf_ffff),
            Placeholder::Namespace => write!(text, "{}{:03}", super::PREFIX, self.namespace),
            Placeholder::Uid => write!(
                text,
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:04x}{:08x}",
                lot >> 32,
                lot >> 16 & 0xffff,
                lot >> 4 & 0xfff,
                lot >> 20 & 0xfff,
                self.incarnation & 0xffff,
                self.index
            ),
            Placeholder::Version => write!(text, "{}", self.revision),
            Placeholder::Node => write!(text, "node-{:03}", lot % 500),
            Placeholder::Address => {
                write!(text, "10.{}.{}.{}", 64 + lot % 64, lot >> 8 & 0xff, 1 + (lot >> 16) % 254)
            }
            Placeholder::Time => {
                write!(text, "2026-01-{:02}T{:02}:{:02}:21Z", 1 + lot % 28, (lot >> 8) % 24, (lot >> 16) % 60)
            }
            Placeholder::Touches => write!(text, "{}", self.touches),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}
