//! Manifests of an agent in its cluster. The role is the documented one.

use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "spindrift";
pub(crate) const SERVICE_ACCOUNT: &str = "spindrift-agent";
/// Secret that has the token of [`Token::OfSecret`].
pub(crate) const TOKEN_SECRET: &str = "agent-token";
pub(crate) const IMAGE: &str = "registry.invalid/spindrift-agent:1";

/// Where service accounts are mounted in every pod.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

const RUNNING: &str = include_str!("../../docs/running.md");

/// Origin of the agent's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The volume that Kubernetes adds to every pod.
    OfKubelet,
    /// A Secret, in a volume of the same form.
    OfSecret,
}

/// A Deployment of one agent with one account.
pub(crate) struct AgentPod<'a> {
    pub(crate) name: &'a str,
    pub(crate) account: &'a str,
    pub(crate) token: Token,
}

/// Namespace, service account and the role of docs/running.md.
pub(crate) fn permissions() -> String {
    let begin = RUNNING.find("apiVersion: rbac.authorization.k8s.io/v1").unwrap();
    let role = RUNNING[begin..].split("```").next().unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "spindrift-agent" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "spindrift-agent" },
        "subjects": [{ "kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": NAMESPACE }],
    });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": SERVICE_ACCOUNT, "namespace": NAMESPACE },
    });
    format!("{namespace}\n---\n{account}\n---\n{binding}\n---\n{role}")
}

// === impl AgentPod ===

impl AgentPod<'_> {
    /// Configuration and Deployment, for a hub at this address.
    pub(crate) fn manifest(&self, hub: &str) -> String {
        let Self { name, account, token } = self;
        let config = json!({
            "clouddriver": { "grpc": hub, "insecure": true },
            "kubernetes": { "accounts": [{ "name": account, "serviceAccount": true }] },
            // Where kubelet reaches it.
            "server": { "host": "0.0.0.0" },
        });
        let config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "data": { "armory-agent.yml": config.to_string() },
        });
        let mut volumes = vec![json!({ "name": "config", "configMap": { "name": name } })];
        let mut mounts = vec![json!({ "name": "config", "mountPath": "/opt/spindrift" })];
        if *token == Token::OfSecret {
            volumes.push(json!({ "name": "token", "projected": { "sources": [
                { "secret": { "name": TOKEN_SECRET } },
                { "configMap": { "name": "kube-root-ca.crt" } },
            ] } }));
            mounts.push(json!({ "name": "token", "mountPath": MOUNT, "readOnly": true }));
        }
        let pod = json!({
            "serviceAccountName": SERVICE_ACCOUNT,
            "automountServiceAccountToken": *token == Token::OfKubelet,
            "terminationGracePeriodSeconds": 5,
            "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
            "volumes": volumes,
            "containers": [container(&mounts)],
        });
        let labels = json!({ "app": name });
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": {
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pod },
            },
        });
        format!("{config}\n---\n{deployment}")
    }
}

fn container(mounts: &[Value]) -> Value {
    json!({
        "name": "agent",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": ["--config", "/opt/spindrift/armory-agent.yml"],
        "volumeMounts": mounts,
        "readinessProbe": { "httpGet": { "path": "/health", "port": 8082 }, "periodSeconds": 1 },
        "resources": { "limits": { "memory": "256Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
    })
}
