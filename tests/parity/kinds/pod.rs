//! Templates of pods, where most lists are that are merged by a key.

use serde_json::{Value, json};

use crate::decisions::Decisions;

const IMAGES: [&str; 4] = ["shop:1", "shop:2", "registry.example.com/shop:3", "proxy@sha256:aa"];
const WORDS: [&str; 5] = ["blue", "green", "", "a <b> & \"c\"", "über\nzwei"];

/// The template of a workload whose pods have this label.
pub(crate) fn template(decisions: &Decisions, app: &str) -> Value {
    let mut labels = decisions.map("labels", 0, &["tier", "track"], &["front", "back"]);
    if labels.is_null() {
        labels = json!({});
    }
    labels["app"] = app.into();
    json!({
        "metadata": {
            "labels": labels,
            "annotations": decisions.map("annotations", 0, &["example.com/a", "example.com/b"], &WORDS),
        },
        "spec": spec(&decisions.within("spec")),
    })
}

fn spec(decisions: &Decisions) -> Value {
    let volumes = decisions.some("volumes", 0, &["config", "cache", "secret", "all"]);
    let from: Vec<_> = volumes.iter().map(|name| volume(name, &decisions.within(name))).collect();
    json!({
        "containers": decisions.items("containers", 1, &["app", "proxy", "sidecar"], |name, decisions| container(name, decisions, &volumes)),
        "initContainers": decisions.maybe("init", 30, |decisions| {
            decisions.items("containers", 1, &["prepare", "migrate"], |name, decisions| {
                let mut container = container(name, decisions, &volumes);
                // They end before anybody could ask how they are.
                for asked in ["lifecycle", "livenessProbe", "readinessProbe"] {
                    container[asked] = Value::Null;
                }
                container
            })
        }),
        "volumes": if from.is_empty() { Value::Null } else { from.into() },
        "imagePullSecrets": decisions.items("pull", 0, &["registry", "mirror"], |name, _| json!({ "name": name })),
        "hostAliases": decisions.maybe("aliases", 30, |decisions| decisions.items("ip", 1, &["10.1.0.1", "10.1.0.2"], |ip, decisions| {
            json!({ "ip": ip, "hostnames": decisions.some("names", 1, &["one.example.com", "two.example.com"]) })
        })),
        "nodeSelector": decisions.map("node", 0, &["disk", "zone"], &["ssd", "a"]),
        "tolerations": decisions.maybe("tolerations", 30, |decisions| decisions.items("key", 1, &["gpu", "spot"], |key, decisions| {
            json!({ "key": key, "operator": "Exists", "effect": decisions.one("effect", &["NoSchedule", "NoExecute"]) })
        })),
        "topologySpreadConstraints": decisions.maybe("spread", 25, |decisions| decisions.items("key", 1, &["zone", "host"], |key, decisions| {
            json!({
                "topologyKey": key,
                "maxSkew": decisions.number("skew", 1..4),
                "whenUnsatisfiable": decisions.one("when", &["ScheduleAnyway", "DoNotSchedule"]),
                "labelSelector": { "matchLabels": { "app": "web" } },
            })
        })),
        "affinity": decisions.maybe("affinity", 20, |decisions| json!({ "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": decisions.number("weight", 1..100),
                "podAffinityTerm": { "topologyKey": "host", "labelSelector": { "matchLabels": { "app": "web" } } },
            }],
        } })),
        "securityContext": decisions.maybe("security", 30, |decisions| json!({
            "runAsUser": decisions.maybe("user", 60, |decisions| decisions.number("id", 1..3).into()),
            "supplementalGroups": decisions.maybe("groups", 50, |decisions| json!([decisions.number("id", 1..9), 7])),
            "sysctls": decisions.items("sysctls", 0, &["net.core.somaxconn", "kernel.shm_rmid_forced"], |name, decisions| {
                json!({ "name": name, "value": decisions.one("value", &["0", "1"]) })
            }),
        })),
        "terminationGracePeriodSeconds": decisions.maybe("grace", 30, |decisions| decisions.number("seconds", 0..60).into()),
        "dnsConfig": decisions.maybe("dns", 15, |decisions| json!({
            "nameservers": decisions.some("servers", 1, &["10.0.0.10", "10.0.0.11"]),
            "options": [{ "name": "ndots", "value": "2" }],
        })),
        "serviceAccountName": decisions.maybe("account", 20, |decisions| decisions.one("name", &["shop", "other"]).into()),
    })
}

fn container(name: &str, decisions: &Decisions, volumes: &[&str]) -> Value {
    json!({
        "name": name,
        "image": decisions.one("image", &IMAGES),
        "imagePullPolicy": decisions.maybe("pull", 25, |decisions| decisions.one("when", &["Always", "IfNotPresent"]).into()),
        "command": decisions.maybe("command", 20, |decisions| json!(decisions.some("words", 1, &["run", "--fast", "--safe"]))),
        "args": decisions.maybe("args", 30, |decisions| json!(decisions.some("words", 0, &["-v", "-x", "--a=b", "-v"]))),
        "env": decisions.items("env", 0, &["COLOUR", "SIZE", "POD", "EMPTY"], environment),
        "envFrom": decisions.maybe("from", 20, |decisions| decisions.items("map", 1, &["one", "two"], |name, _| {
            json!({ "configMapRef": { "name": name } })
        })),
        "ports": decisions.items("ports", 0, &["8080", "9090", "53", "53/UDP"], port),
        "volumeMounts": mounts(decisions, volumes),
        "resources": decisions.maybe("resources", 40, |decisions| json!({
            "requests": decisions.map("requests", 0, &["cpu", "memory"], &["100m", "1", "0.5"]),
            "limits": decisions.map("limits", 0, &["cpu", "memory"], &["2", "2000m", "3"]),
        })),
        "livenessProbe": decisions.maybe("liveness", 40, probe),
        "readinessProbe": decisions.maybe("readiness", 30, probe),
        "lifecycle": decisions.maybe("lifecycle", 15, |decisions| json!({ "preStop": handler(decisions) })),
        "securityContext": decisions.maybe("security", 25, |decisions| json!({
            "readOnlyRootFilesystem": decisions.maybe("read only", 50, |decisions| decisions.chance("yes", 50).into()),
            "capabilities": { "add": decisions.some("add", 1, &["NET_ADMIN", "SYS_TIME", "CHOWN"]) },
        })),
    })
}

fn environment(name: &str, decisions: &Decisions) -> Value {
    match decisions.one("source", &["value", "value", "field", "map", "none"]) {
        "field" => json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }),
        "map" => json!({ "name": name, "valueFrom": { "configMapKeyRef": {
            "name": decisions.one("map", &["one", "two"]), "key": "k", "optional": decisions.chance("optional", 50),
        } } }),
        "none" => json!({ "name": name }),
        _ => json!({ "name": name, "value": decisions.one("value", &WORDS) }),
    }
}

/// The same number twice with two protocols is allowed, and the number alone is the key by which kubectl merges.
fn port(port: &str, decisions: &Decisions) -> Value {
    let (number, protocol) = port.split_once('/').unwrap_or((port, "TCP"));
    let number: u16 = number.parse().unwrap();
    json!({
        "containerPort": number,
        "name": decisions.maybe("name", 50, |_| format!("p{number}-{}", protocol.to_lowercase()).into()),
        "protocol": if protocol == "UDP" || decisions.chance("protocol", 30) { protocol.into() } else { Value::Null },
    })
}

fn mounts(decisions: &Decisions, volumes: &[&str]) -> Value {
    let mounts: Vec<_> = volumes
        .iter()
        .filter(|volume| decisions.chance(volume, 60))
        .map(|volume| {
            let decisions = decisions.within(volume);
            json!({
                "name": volume,
                "mountPath": format!("/{volume}"),
                "readOnly": decisions.maybe("only", 40, |decisions| decisions.chance("yes", 50).into()),
                "subPath": decisions.maybe("sub", 20, |decisions| decisions.one("path", &["a", "b"]).into()),
            })
        })
        .collect();
    if mounts.is_empty() { Value::Null } else { mounts.into() }
}

fn volume(name: &str, decisions: &Decisions) -> Value {
    let mut volume = json!({ "name": name });
    let (source, value) = match decisions.one("source", &["emptyDir", "configMap", "secret", "projected"]) {
        "configMap" => (
            "configMap",
            json!({
                "name": decisions.one("map", &["one", "two"]),
                "items": decisions.items("items", 0, &["a", "b"], |key, _| json!({ "key": key, "path": key })),
            }),
        ),
        "secret" => (
            "secret",
            json!({ "secretName": "s", "defaultMode": decisions.maybe("mode", 50, |_| 0o400.into()) }),
        ),
        "projected" => (
            "projected",
            json!({ "sources": decisions.items("sources", 1, &["one", "two"], |name, _| {
            json!({ "configMap": { "name": name } })
        }) }),
        ),
        _ => ("emptyDir", json!({ "medium": decisions.maybe("memory", 40, |_| "Memory".into()) })),
    };
    volume[source] = value;
    volume
}

fn probe(decisions: &Decisions) -> Value {
    let mut probe = handler(decisions);
    probe["periodSeconds"] =
        decisions.maybe("period", 50, |decisions| decisions.number("seconds", 1..30).into());
    probe["initialDelaySeconds"] =
        decisions.maybe("delay", 40, |decisions| decisions.number("seconds", 0..9).into());
    probe
}

fn handler(decisions: &Decisions) -> Value {
    match decisions.one("handler", &["http", "tcp", "exec"]) {
        "http" => json!({ "httpGet": {
            "path": decisions.one("path", &["/", "/health"]),
            "port": decisions.one("port", &[json!(8080), json!("web")]),
            "httpHeaders": decisions.items("headers", 0, &["X-A", "X-B"], |name, _| json!({ "name": name, "value": "1" })),
        } }),
        "tcp" => json!({ "tcpSocket": { "port": 8080 } }),
        _ => json!({ "exec": { "command": decisions.some("words", 1, &["true", "-x"]) } }),
    }
}
