//! Templates of pods, where most lists are that are merged by a key.

use serde_json::{Value, json};

use crate::dice::Dice;

const IMAGES: [&str; 4] = ["shop:1", "shop:2", "registry.example.com/shop:3", "proxy@sha256:aa"];
const WORDS: [&str; 5] = ["blue", "green", "", "a <b> & \"c\"", "über\nzwei"];

/// The template of a workload whose pods have this label.
pub(crate) fn template(dice: &Dice, app: &str) -> Value {
    let mut labels = dice.map("labels", 0, &["tier", "track"], &["front", "back"]);
    if labels.is_null() {
        labels = json!({});
    }
    labels["app"] = app.into();
    json!({
        "metadata": {
            "labels": labels,
            "annotations": dice.map("annotations", 0, &["example.com/a", "example.com/b"], &WORDS),
        },
        "spec": spec(&dice.within("spec")),
    })
}

fn spec(dice: &Dice) -> Value {
    let volumes = dice.some("volumes", 0, &["config", "cache", "secret", "all"]);
    let from: Vec<_> = volumes.iter().map(|name| volume(name, &dice.within(name))).collect();
    json!({
        "containers": dice.items("containers", 1, &["app", "proxy", "sidecar"], |name, dice| container(name, dice, &volumes)),
        "initContainers": dice.maybe("init", 30, |dice| {
            dice.items("containers", 1, &["prepare", "migrate"], |name, dice| {
                let mut container = container(name, dice, &volumes);
                // They end before anybody could ask how they are.
                for asked in ["lifecycle", "livenessProbe", "readinessProbe"] {
                    container[asked] = Value::Null;
                }
                container
            })
        }),
        "volumes": if from.is_empty() { Value::Null } else { from.into() },
        "imagePullSecrets": dice.items("pull", 0, &["registry", "mirror"], |name, _| json!({ "name": name })),
        "hostAliases": dice.maybe("aliases", 30, |dice| dice.items("ip", 1, &["10.1.0.1", "10.1.0.2"], |ip, dice| {
            json!({ "ip": ip, "hostnames": dice.some("names", 1, &["one.example.com", "two.example.com"]) })
        })),
        "nodeSelector": dice.map("node", 0, &["disk", "zone"], &["ssd", "a"]),
        "tolerations": dice.maybe("tolerations", 30, |dice| dice.items("key", 1, &["gpu", "spot"], |key, dice| {
            json!({ "key": key, "operator": "Exists", "effect": dice.one("effect", &["NoSchedule", "NoExecute"]) })
        })),
        "topologySpreadConstraints": dice.maybe("spread", 25, |dice| dice.items("key", 1, &["zone", "host"], |key, dice| {
            json!({
                "topologyKey": key,
                "maxSkew": dice.number("skew", 1..4),
                "whenUnsatisfiable": dice.one("when", &["ScheduleAnyway", "DoNotSchedule"]),
                "labelSelector": { "matchLabels": { "app": "web" } },
            })
        })),
        "affinity": dice.maybe("affinity", 20, |dice| json!({ "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": dice.number("weight", 1..100),
                "podAffinityTerm": { "topologyKey": "host", "labelSelector": { "matchLabels": { "app": "web" } } },
            }],
        } })),
        "securityContext": dice.maybe("security", 30, |dice| json!({
            "runAsUser": dice.maybe("user", 60, |dice| dice.number("id", 1..3).into()),
            "supplementalGroups": dice.maybe("groups", 50, |dice| json!([dice.number("id", 1..9), 7])),
            "sysctls": dice.items("sysctls", 0, &["net.core.somaxconn", "kernel.shm_rmid_forced"], |name, dice| {
                json!({ "name": name, "value": dice.one("value", &["0", "1"]) })
            }),
        })),
        "terminationGracePeriodSeconds": dice.maybe("grace", 30, |dice| dice.number("seconds", 0..60).into()),
        "dnsConfig": dice.maybe("dns", 15, |dice| json!({
            "nameservers": dice.some("servers", 1, &["10.0.0.10", "10.0.0.11"]),
            "options": [{ "name": "ndots", "value": "2" }],
        })),
        "serviceAccountName": dice.maybe("account", 20, |dice| dice.one("name", &["shop", "other"]).into()),
    })
}

fn container(name: &str, dice: &Dice, volumes: &[&str]) -> Value {
    json!({
        "name": name,
        "image": dice.one("image", &IMAGES),
        "imagePullPolicy": dice.maybe("pull", 25, |dice| dice.one("when", &["Always", "IfNotPresent"]).into()),
        "command": dice.maybe("command", 20, |dice| json!(dice.some("words", 1, &["run", "--fast", "--safe"]))),
        "args": dice.maybe("args", 30, |dice| json!(dice.some("words", 0, &["-v", "-x", "--a=b", "-v"]))),
        "env": dice.items("env", 0, &["COLOUR", "SIZE", "POD", "EMPTY"], environment),
        "envFrom": dice.maybe("from", 20, |dice| dice.items("map", 1, &["one", "two"], |name, _| {
            json!({ "configMapRef": { "name": name } })
        })),
        "ports": dice.items("ports", 0, &["8080", "9090", "53", "53/UDP"], port),
        "volumeMounts": mounts(dice, volumes),
        "resources": dice.maybe("resources", 40, |dice| json!({
            "requests": dice.map("requests", 0, &["cpu", "memory"], &["100m", "1", "0.5"]),
            "limits": dice.map("limits", 0, &["cpu", "memory"], &["2", "2000m", "3"]),
        })),
        "livenessProbe": dice.maybe("liveness", 40, probe),
        "readinessProbe": dice.maybe("readiness", 30, probe),
        "lifecycle": dice.maybe("lifecycle", 15, |dice| json!({ "preStop": handler(dice) })),
        "securityContext": dice.maybe("security", 25, |dice| json!({
            "readOnlyRootFilesystem": dice.maybe("read only", 50, |dice| dice.chance("yes", 50).into()),
            "capabilities": { "add": dice.some("add", 1, &["NET_ADMIN", "SYS_TIME", "CHOWN"]) },
        })),
    })
}

fn environment(name: &str, dice: &Dice) -> Value {
    match dice.one("source", &["value", "value", "field", "map", "none"]) {
        "field" => json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }),
        "map" => json!({ "name": name, "valueFrom": { "configMapKeyRef": {
            "name": dice.one("map", &["one", "two"]), "key": "k", "optional": dice.chance("optional", 50),
        } } }),
        "none" => json!({ "name": name }),
        _ => json!({ "name": name, "value": dice.one("value", &WORDS) }),
    }
}

/// The same number twice with two protocols is allowed, and the number alone is the key by which kubectl merges.
fn port(port: &str, dice: &Dice) -> Value {
    let (number, protocol) = port.split_once('/').unwrap_or((port, "TCP"));
    let number: u16 = number.parse().unwrap();
    json!({
        "containerPort": number,
        "name": dice.maybe("name", 50, |_| format!("p{number}-{}", protocol.to_lowercase()).into()),
        "protocol": if protocol == "UDP" || dice.chance("protocol", 30) { protocol.into() } else { Value::Null },
    })
}

fn mounts(dice: &Dice, volumes: &[&str]) -> Value {
    let mounts: Vec<_> = volumes
        .iter()
        .filter(|volume| dice.chance(volume, 60))
        .map(|volume| {
            let dice = dice.within(volume);
            json!({
                "name": volume,
                "mountPath": format!("/{volume}"),
                "readOnly": dice.maybe("only", 40, |dice| dice.chance("yes", 50).into()),
                "subPath": dice.maybe("sub", 20, |dice| dice.one("path", &["a", "b"]).into()),
            })
        })
        .collect();
    if mounts.is_empty() { Value::Null } else { mounts.into() }
}

fn volume(name: &str, dice: &Dice) -> Value {
    let mut volume = json!({ "name": name });
    let (source, value) = match dice.one("source", &["emptyDir", "configMap", "secret", "projected"]) {
        "configMap" => (
            "configMap",
            json!({
                "name": dice.one("map", &["one", "two"]),
                "items": dice.items("items", 0, &["a", "b"], |key, _| json!({ "key": key, "path": key })),
            }),
        ),
        "secret" => {
            ("secret", json!({ "secretName": "s", "defaultMode": dice.maybe("mode", 50, |_| 0o400.into()) }))
        }
        "projected" => (
            "projected",
            json!({ "sources": dice.items("sources", 1, &["one", "two"], |name, _| {
            json!({ "configMap": { "name": name } })
        }) }),
        ),
        _ => ("emptyDir", json!({ "medium": dice.maybe("memory", 40, |_| "Memory".into()) })),
    };
    volume[source] = value;
    volume
}

fn probe(dice: &Dice) -> Value {
    let mut probe = handler(dice);
    probe["periodSeconds"] = dice.maybe("period", 50, |dice| dice.number("seconds", 1..30).into());
    probe["initialDelaySeconds"] = dice.maybe("delay", 40, |dice| dice.number("seconds", 0..9).into());
    probe
}

fn handler(dice: &Dice) -> Value {
    match dice.one("handler", &["http", "tcp", "exec"]) {
        "http" => json!({ "httpGet": {
            "path": dice.one("path", &["/", "/health"]),
            "port": dice.one("port", &[json!(8080), json!("web")]),
            "httpHeaders": dice.items("headers", 0, &["X-A", "X-B"], |name, _| json!({ "name": name, "value": "1" })),
        } }),
        "tcp" => json!({ "tcpSocket": { "port": 8080 } }),
        _ => json!({ "exec": { "command": dice.some("words", 1, &["true", "-x"]) } }),
    }
}
