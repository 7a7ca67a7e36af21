//! Objects that every new cluster contains.

use serde_json::{Value, json};

use super::Cluster;
use crate::catalogue::table_id;
use crate::object::metadata;

impl Cluster {
    pub(super) fn seed(&self) {
        let namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"]
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        for object in namespaces.into_iter().chain([api_service()]).chain(roles()).chain(priority_classes()) {
            let created = self.create(object);
            debug_assert!(created.is_ok(), "a seed is refused: {created:?}");
        }
    }

    /// Sets the uid of `kube-system`, derived from this identity.
    pub(super) fn identify(&self, identity: u64) {
        let namespaces = table_id("", "namespaces");
        let mut store = self.store.write();
        let Some(mut kube_system) = store.value(&namespaces, "kube-system") else { return };
        let mut rng = fastrand::Rng::with_seed(identity);
        let uid = uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes()).into_uuid();
        metadata(&mut kube_system).insert("uid".into(), uid.to_string().into());
        store.put(&namespaces, "kube-system", &mut kube_system);
    }
}

fn api_service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    })
}

fn roles() -> Vec<Value> {
    let role = |name: &str, rules: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}, "rules": rules,
        })
    };
    let binding = |name: &str, groups: &[&str]| {
        let subject =
            |group: &&str| json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": group});
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
        })
    };
    let read = ["get", "list", "watch"];
    let write = ["create", "delete", "deletecollection", "patch", "update"];
    let both = [read.as_slice(), write.as_slice()].concat();
    let groups = ["", "apps", "autoscaling", "batch", "networking.k8s.io", "policy", "discovery.k8s.io"];
    let probes = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let discovery = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ];
    // All namespaced kinds but Secrets and roles.
    let visible = [
        "bindings",
        "configmaps",
        "controllerrevisions",
        "cronjobs",
        "daemonsets",
        "deployments",
        "deployments/scale",
        "deployments/status",
        "endpoints",
        "endpointslices",
        "events",
        "horizontalpodautoscalers",
        "ingresses",
        "jobs",
        "jobs/status",
        "limitranges",
        "namespaces",
        "networkpolicies",
        "persistentvolumeclaims",
        "poddisruptionbudgets",
        "pods",
        "pods/log",
        "pods/status",
        "replicasets",
        "replicasets/scale",
        "replicationcontrollers",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "statefulsets",
        "statefulsets/scale",
    ];
    let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let view = json!({"apiGroups": groups, "resources": visible, "verbs": read});
    let edit = json!({"apiGroups": groups, "resources": visible, "verbs": write});
    let secrets = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": both});
    let rights = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": both});
    let reviews = json!({
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"],
    });
    let own = json!({"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]});
    vec![
        role("cluster-admin", json!([all, {"nonResourceURLs": ["*"], "verbs": ["*"]}])),
        role("admin", json!([view, edit, secrets, rights])),
        role("edit", json!([view, edit, secrets])),
        role("view", json!([view])),
        role("system:discovery", json!([{"nonResourceURLs": discovery, "verbs": ["get"]}])),
        role("system:basic-user", json!([reviews, own])),
        role("system:public-info-viewer", json!([{"nonResourceURLs": probes, "verbs": ["get"]}])),
        binding("cluster-admin", &["system:masters"]),
        binding("system:discovery", &["system:authenticated"]),
        binding("system:basic-user", &["system:authenticated"]),
        binding("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    ]
}

fn priority_classes() -> Vec<Value> {
    let class = |name: &str, value: i64, description: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "description": description,
        })
    };
    vec![
        class(
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        class(
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ]
}
