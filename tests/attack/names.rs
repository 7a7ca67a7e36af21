//! Names that would address another object: an API server decodes `%2F` in a path.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{bystander::ACCOUNT, target::Target};

/// Names that cannot be one segment of a path.
const NAMES: [&str; 7] =
    ["kube-system/configmaps/x", "..", ".", "a%2Fb", "n1/proxy/pods", "../../secrets", "%2e%2e"];

/// Asks for each name with every verb, as name and as namespace; each is refused with 400 by its field.
pub(crate) async fn names(target: &mut Target) {
    let url = format!("{}/v1/accounts/{ACCOUNT}/operations", target.hub.url());
    let client = reqwest::Client::new();
    for name in NAMES {
        for (verb, field) in verbs(name) {
            let answer = client.post(&url).json(&verb).send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
            let message = serde_json::from_str::<Value>(&text).unwrap_or_default()["message"].clone();
            let is_named = message.as_str().is_some_and(|message| message.starts_with(&format!("{field}: ")));
            target.check(format!("{} {field} {name:?}", verb["verb"]), status == 400 && is_named, text);
        }
        let segment = name.bytes().fold(String::new(), |mut text, byte| {
            write!(text, "%{byte:02X}").expect("a string takes all text");
            text
        });
        let mut paths = vec![
            format!("/manifests/{ACCOUNT}/default/pod%20{segment}"),
            format!("/instances/{ACCOUNT}/default/pod%20{segment}/console"),
            format!("/applications/x/jobs/{ACCOUNT}/default/job%20{segment}"),
        ];
        // A URL parser takes a whole segment of dots out of the path, also if it is encoded.
        if ![".", ".."].contains(&name) {
            paths.push(format!("/manifests/{ACCOUNT}/{segment}/pod%20x"));
        }
        for path in paths {
            let answer = client.get(format!("{}{path}", target.hub.url())).send().await.unwrap();
            let status = answer.status();
            target.check(format!("GET {path}"), status == 400, answer.text().await.unwrap_or_default());
        }
    }
}

fn verbs(name: &str) -> Vec<(Value, &'static str)> {
    let object = |kind: &str| json!({ "kind": kind, "namespace": "default", "name": name });
    let within = json!({ "kind": "ConfigMap", "namespace": name, "name": "x" });
    let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    vec![
        (json!({ "verb": "get", "target": object("Namespace") }), "target.name"),
        (json!({ "verb": "get", "target": within }), "target.namespace"),
        (
            json!({ "verb": "get", "target": object("Secret"), "anywhere": true, "reveal": true }),
            "target.name",
        ),
        (json!({ "verb": "logs", "target": object("Pod") }), "target.name"),
        (json!({ "verb": "scale", "target": object("Deployment"), "replicas": 0 }), "target.name"),
        (json!({ "verb": "rollout", "action": "restart", "target": object("Deployment") }), "target.name"),
        (json!({ "verb": "patch", "target": object("ConfigMap"), "patch": {} }), "target.name"),
        (json!({ "verb": "delete", "kind": "Namespace", "name": name }), "name"),
        (
            json!({ "verb": "delete", "kind": "ConfigMap", "namespace": name, "labelSelector": "a=b" }),
            "namespace",
        ),
        (json!({ "verb": "list", "kind": "ConfigMap", "namespace": name }), "namespace"),
        (json!({ "verb": "top", "kind": "nodes", "name": name }), "name"),
        (json!({ "verb": "apply", "manifest": manifest }), "manifest.metadata.name"),
        (json!({ "verb": "create", "manifest": manifest }), "manifest.metadata.name"),
        (json!({ "verb": "replace", "manifest": manifest }), "manifest.metadata.name"),
        (json!({ "verb": "diff", "manifest": manifest }), "manifest.metadata.name"),
        (json!({ "verb": "matches", "target": object("Secret"), "manifest": {} }), "target.name"),
    ]
}
