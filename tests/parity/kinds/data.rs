//! Settings, secrets and who may read them.

use serde_json::{Value, json};

use crate::dice::Dice;

const KEYS: [&str; 4] = ["colour", "app.properties", "empty", "unicode"];
const VALUES: [&str; 5] = ["blue", "a=1\nb=<2>&'3'\n", "", "zürich \u{2028} \u{1F30A}", "{\"json\": true}"];
/// The same in base64, as far as it is needed.
const ENCODED: [&str; 4] = ["Ymx1ZQ==", "AAECAw==", "", "eyJqc29uIjogdHJ1ZX0="];

pub(super) fn config_map(dice: &Dice) -> Value {
    json!({
        "data": dice.map("data", 0, &KEYS, &VALUES),
        "binaryData": dice.map("binary", 0, &["logo", "icon"], &ENCODED),
        "immutable": dice.firm().maybe("immutable", 5, |_| true.into()),
    })
}

pub(super) fn secret(dice: &Dice) -> Value {
    json!({
        "type": dice.firm().maybe("type", 50, |dice| dice.one("name", &["Opaque", "example.com/own"]).into()),
        "data": dice.map("data", 0, &KEYS, &ENCODED),
        "stringData": dice.map("strings", 0, &["colour", "token"], &VALUES),
    })
}

pub(super) fn service_account(dice: &Dice) -> Value {
    json!({
        "secrets": dice.items("secrets", 0, &["one", "two", "three"], |name, _| json!({ "name": name })),
        "imagePullSecrets": dice.items("pull", 0, &["registry", "mirror"], |name, _| json!({ "name": name })),
        "automountServiceAccountToken": dice.maybe("mount", 40, |dice| dice.chance("yes", 50).into()),
    })
}

pub(super) fn role(dice: &Dice) -> Value {
    json!({ "rules": rules(dice) })
}

pub(super) fn cluster_role(dice: &Dice) -> Value {
    json!({
        "rules": rules(dice),
        "aggregationRule": dice.maybe("aggregation", 20, |dice| json!({ "clusterRoleSelectors": [{
            "matchLabels": { "aggregate": dice.one("label", &["yes", "no"]) },
        }] })),
    })
}

fn rules(dice: &Dice) -> Value {
    dice.items("rules", 0, &["pods", "deployments", "secrets"], |resource, dice| {
        json!({
            "apiGroups": [if resource == "deployments" { "apps" } else { "" }],
            "resources": [resource],
            "verbs": dice.some("verbs", 1, &["get", "list", "watch", "patch"]),
            "resourceNames": dice.maybe("names", 20, |dice| json!(dice.some("name", 1, &["a", "b"]))),
        })
    })
}

pub(super) fn role_binding(dice: &Dice) -> Value {
    let role = dice.firm().one("role", &["reader", "writer"]);
    json!({
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role },
        "subjects": dice.items("subjects", 0, &["alice", "bob", "carol"], |name, dice| json!({
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": dice.one("kind", &["User", "Group"]),
            "name": name,
        })),
    })
}

pub(super) fn autoscaler(dice: &Dice) -> Value {
    json!({ "spec": {
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": dice.one("target", &["web", "other"]) },
        "minReplicas": dice.maybe("least", 60, |dice| dice.number("pods", 1..4).into()),
        "maxReplicas": dice.number("most", 4..9),
        "metrics": dice.items("metrics", 0, &["cpu", "memory"], |name, dice| json!({
            "type": "Resource",
            "resource": { "name": name, "target": { "type": "Utilization", "averageUtilization": dice.number("percent", 10..90) } },
        })),
        "behavior": dice.maybe("behavior", 40, |dice| json!({ "scaleDown": {
            "stabilizationWindowSeconds": dice.number("window", 0..600),
            "policies": dice.items("policies", 1, &["Pods", "Percent"], |kind, dice| json!({
                "type": kind, "value": dice.number("value", 1..9), "periodSeconds": 60,
            })),
        } })),
    } })
}

pub(super) fn disruption_budget(dice: &Dice) -> Value {
    let limit = dice.one("limit", &["minAvailable", "maxUnavailable"]);
    let mut spec = json!({
        "selector": dice.maybe("selector", 90, |dice| json!({
            "matchLabels": dice.map("labels", 0, &["app", "tier"], &["web", "back"]),
            "matchExpressions": dice.maybe("more", 30, |_| json!([{ "key": "app", "operator": "Exists" }])),
        })),
        "unhealthyPodEvictionPolicy": dice.maybe("eviction", 30, |dice| dice.one("policy", &["AlwaysAllow", "IfHealthyBudget"]).into()),
    });
    spec[limit] = dice.one("value", &[json!(1), json!(2), json!("50%")]);
    json!({ "spec": spec })
}
