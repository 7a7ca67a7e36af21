//! Settings, secrets and who may read them.

use serde_json::{Value, json};

use crate::decisions::Decisions;

const KEYS: [&str; 4] = ["colour", "app.properties", "empty", "unicode"];
const VALUES: [&str; 5] = ["blue", "a=1\nb=<2>&'3'\n", "", "zürich \u{2028} \u{1F30A}", "{\"json\": true}"];
/// The same in base64, as far as it is needed.
const ENCODED: [&str; 4] = ["Ymx1ZQ==", "AAECAw==", "", "eyJqc29uIjogdHJ1ZX0="];

pub(super) fn config_map(decisions: &Decisions) -> Value {
    json!({
        "data": decisions.map("data", 0, &KEYS, &VALUES),
        "binaryData": decisions.map("binary", 0, &["logo", "icon"], &ENCODED),
        "immutable": decisions.firm().maybe("immutable", 5, |_| true.into()),
    })
}

pub(super) fn secret(decisions: &Decisions) -> Value {
    json!({
        "type": decisions.firm().maybe("type", 50, |decisions| decisions.one("name", &["Opaque", "example.com/own"]).into()),
        "data": decisions.map("data", 0, &KEYS, &ENCODED),
        "stringData": decisions.map("strings", 0, &["colour", "token"], &VALUES),
    })
}

pub(super) fn service_account(decisions: &Decisions) -> Value {
    json!({
        "secrets": decisions.items("secrets", 0, &["one", "two", "three"], |name, _| json!({ "name": name })),
        "imagePullSecrets": decisions.items("pull", 0, &["registry", "mirror"], |name, _| json!({ "name": name })),
        "automountServiceAccountToken": decisions.maybe("mount", 40, |decisions| decisions.chance("yes", 50).into()),
    })
}

pub(super) fn role(decisions: &Decisions) -> Value {
    json!({ "rules": rules(decisions) })
}

pub(super) fn cluster_role(decisions: &Decisions) -> Value {
    json!({
        "rules": rules(decisions),
        "aggregationRule": decisions.maybe("aggregation", 20, |decisions| json!({ "clusterRoleSelectors": [{
            "matchLabels": { "aggregate": decisions.one("label", &["yes", "no"]) },
        }] })),
    })
}

fn rules(decisions: &Decisions) -> Value {
    decisions.items("rules", 0, &["pods", "deployments", "secrets"], |resource, decisions| {
        json!({
            "apiGroups": [if resource == "deployments" { "apps" } else { "" }],
            "resources": [resource],
            "verbs": decisions.some("verbs", 1, &["get", "list", "watch", "patch"]),
            "resourceNames": decisions.maybe("names", 20, |decisions| json!(decisions.some("name", 1, &["a", "b"]))),
        })
    })
}

pub(super) fn role_binding(decisions: &Decisions) -> Value {
    let role = decisions.firm().one("role", &["reader", "writer"]);
    json!({
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role },
        "subjects": decisions.items("subjects", 0, &["alice", "bob", "carol"], |name, decisions| json!({
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": decisions.one("kind", &["User", "Group"]),
            "name": name,
        })),
    })
}

pub(super) fn autoscaler(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": decisions.one("target", &["web", "other"]) },
        "minReplicas": decisions.maybe("least", 60, |decisions| decisions.number("pods", 1..4).into()),
        "maxReplicas": decisions.number("most", 4..9),
        "metrics": decisions.items("metrics", 0, &["cpu", "memory"], |name, decisions| json!({
            "type": "Resource",
            "resource": { "name": name, "target": { "type": "Utilization", "averageUtilization": decisions.number("percent", 10..90) } },
        })),
        "behavior": decisions.maybe("behavior", 40, |decisions| json!({ "scaleDown": {
            "stabilizationWindowSeconds": decisions.number("window", 0..600),
            "policies": decisions.items("policies", 1, &["Pods", "Percent"], |kind, decisions| json!({
                "type": kind, "value": decisions.number("value", 1..9), "periodSeconds": 60,
            })),
        } })),
    } })
}

pub(super) fn disruption_budget(decisions: &Decisions) -> Value {
    let limit = decisions.one("limit", &["minAvailable", "maxUnavailable"]);
    let mut spec = json!({
        "selector": decisions.maybe("selector", 90, |decisions| json!({
            "matchLabels": decisions.map("labels", 0, &["app", "tier"], &["web", "back"]),
            "matchExpressions": decisions.maybe("more", 30, |_| json!([{ "key": "app", "operator": "Exists" }])),
        })),
        "unhealthyPodEvictionPolicy": decisions.maybe("eviction", 30, |decisions| decisions.one("policy", &["AlwaysAllow", "IfHealthyBudget"]).into()),
    });
    spec[limit] = decisions.one("value", &[json!(1), json!(2), json!("50%")]);
    json!({ "spec": spec })
}
