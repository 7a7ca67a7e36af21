//! rollout, beside kubectl: the same words, and the same objects.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_model::OperationId;
use spindrift_testkit::Cluster;
use tokio::sync::OnceCell;

use crate::support::{Bench, Done};

/// A cluster whose controllers roll out; all tests here share it.
async fn living() -> &'static Cluster {
    static LIVING: OnceCell<Cluster> = OnceCell::const_new();
    LIVING.get_or_try_init(Cluster::start).await.unwrap()
}

/// kubectl works in one namespace, and we in another.
struct RolloutPair {
    cluster: &'static Cluster,
    bench: Bench,
    ours: String,
    theirs: String,
    kind: &'static str,
}

// === impl RolloutPair ===

impl RolloutPair {
    /// With a workload in both, at its third revision, if it is one that rolls out.
    async fn new(kind: &'static str) -> Self {
        let cluster = living().await;
        let bench = Bench::new(cluster).await;
        let prefix = kind.to_lowercase();
        let (ours, theirs) =
            (cluster.namespace(&prefix).await.unwrap(), cluster.namespace(&prefix).await.unwrap());
        let pair = Self { cluster, bench, ours, theirs, kind };
        for image in ["web:1", "web:2", "web:3"] {
            for namespace in [&pair.ours, &pair.theirs] {
                pair.apply(namespace, image).await;
            }
            for namespace in [&pair.ours, &pair.theirs] {
                pair.finished(namespace).await;
            }
        }
        pair
    }

    async fn apply(&self, namespace: &str, image: &str) {
        let labels = json!({ "app": "web" });
        let mut spec = json!({
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "web", "image": image }], "terminationGracePeriodSeconds": 0 },
            },
        });
        if self.kind == "StatefulSet" {
            spec["serviceName"] = "web".into();
        }
        let object = json!({
            "apiVersion": "apps/v1", "kind": self.kind,
            "metadata": { "name": "web", "namespace": namespace, "annotations": { "kubernetes.io/change-cause": image } },
            "spec": spec,
        });
        self.cluster.kubectl_stdin(&["apply", "-f", "-"], &object.to_string()).await.unwrap();
    }

    async fn finished(&self, namespace: &str) {
        let target = self.target();
        self.cluster
            .kubectl(&["-n", namespace, "rollout", "status", &target, "--timeout=60s"])
            .await
            .unwrap();
    }

    fn target(&self) -> String {
        format!("{}/web", self.kind.to_lowercase())
    }

    async fn ours(&self, action: Value) -> Done {
        let target = json!({ "kind": self.kind, "namespace": self.ours, "name": "web" });
        let mut verb = json!({ "verb": "rollout", "target": target });
        verb.as_object_mut().unwrap().extend(action.as_object().unwrap().clone());
        self.bench.run(verb).await
    }

    async fn theirs(&self, command: &str) -> anyhow::Result<String> {
        let target = self.target();
        let mut args = vec!["-n", &self.theirs, "rollout"];
        let mut words = command.split(' ');
        args.extend(words.next());
        args.push(&target);
        args.extend(words);
        self.cluster.kubectl(&args).await
    }

    /// Both make the same change, with the same output.
    async fn both(&self, action: Value, command: &str) -> Value {
        let ours = self.ours(action).await.json();
        let theirs = self.theirs(command).await.unwrap();
        let said = format!("{}.apps/web {}", self.kind.to_lowercase(), ours["action"].as_str().unwrap());
        assert_eq!(theirs.trim(), said);
        ours
    }

    /// Both are refused with the same words.
    async fn neither(&self, action: Value, command: &str) {
        let (_, ours) = self.ours(action).await.refused();
        let theirs = format!("{:#}", self.theirs(command).await.unwrap_err());
        assert!(theirs.contains(&ours), "we say: {ours}; kubectl says: {theirs}");
    }

    async fn stored(&self, namespace: &str, path: &str) -> String {
        let path = format!("jsonpath={path}");
        self.cluster.kubectl(&["-n", namespace, "get", &self.target(), "-o", &path]).await.unwrap()
    }

    /// The same is stored on both sides.
    async fn same(&self, path: &str) -> String {
        let (ours, theirs) = (self.stored(&self.ours, path).await, self.stored(&self.theirs, path).await);
        assert_eq!(ours, theirs, "{path}");
        ours
    }

    async fn finish(&self) {
        self.finished(&self.ours).await;
        self.finished(&self.theirs).await;
    }
}

const TEMPLATE: &str = "{.spec.template}";

#[tokio::test]
async fn a_deployment_goes_back_as_with_kubectl() {
    let pair = RolloutPair::new("Deployment").await;
    pair.both(json!({ "action": "undo" }), "undo").await;
    assert!(pair.same(TEMPLATE).await.contains("web:2"));
    assert_eq!(pair.same("{.metadata.annotations['kubernetes\\.io/change-cause']}").await, "web:2");
    pair.finish().await;
    pair.both(json!({ "action": "undo", "toRevision": 1 }), "undo --to-revision=1").await;
    assert!(pair.same(TEMPLATE).await.contains("web:1"));
    pair.finish().await;
    // The template of revision 1 is that of revision 5 now.
    let skipped = pair.both(json!({ "action": "undo", "toRevision": 5 }), "undo --to-revision=5").await;
    assert_eq!(skipped["action"], "skipped rollback (current template already matches revision 5)");
    pair.neither(json!({ "action": "undo", "toRevision": 1 }), "undo --to-revision=1").await;

    let history = pair.ours(json!({ "action": "history" })).await.json();
    let shown: Vec<_> = history["revisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["revision"].clone(), one["changeCause"].clone()))
        .collect();
    let expected =
        [(3, "web:3"), (4, "web:2"), (5, "web:1")].map(|(number, cause)| (json!(number), json!(cause)));
    assert_eq!(shown, expected);
    let theirs = pair.theirs("history").await.unwrap();
    assert!(theirs.contains("3         web:3\n4         web:2\n5         web:1"), "{theirs}");
    let one = pair.ours(json!({ "action": "history", "revision": 4 })).await.json();
    assert_eq!(one["revisions"][0]["template"]["spec"]["containers"][0]["image"], "web:2");
    pair.neither(json!({ "action": "history", "revision": 9 }), "history --revision=9").await;
}

#[tokio::test]
async fn a_deployment_is_held_let_go_and_restarted_as_with_kubectl() {
    let pair = RolloutPair::new("Deployment").await;
    pair.neither(json!({ "action": "resume" }), "resume").await;
    pair.both(json!({ "action": "pause" }), "pause").await;
    assert_eq!(pair.same("{.spec.paused}").await, "true");
    pair.neither(json!({ "action": "pause" }), "pause").await;
    pair.neither(json!({ "action": "undo" }), "undo").await;
    pair.neither(json!({ "action": "restart" }), "restart").await;
    pair.both(json!({ "action": "resume" }), "resume").await;
    assert_eq!(pair.same("{.spec.paused}").await, "");
    pair.both(json!({ "action": "restart" }), "restart").await;
    let at = "{.spec.template.metadata.annotations['kubectl\\.kubernetes\\.io/restartedAt']}";
    assert_eq!(pair.stored(&pair.ours, at).await.len(), "2026-01-01T00:00:00Z".len());
    let manager = pair.same("{.metadata.managedFields[?(@.manager=='kubectl-rollout')].manager}").await;
    assert_eq!(manager, "kubectl-rollout");
    let tried = pair.ours(json!({ "action": "pause", "dryRun": "server" })).await.json();
    assert_eq!(tried["object"]["spec"]["paused"], true);
    assert_eq!(pair.stored(&pair.ours, "{.spec.paused}").await, "");
}

#[tokio::test]
async fn sets_go_back_as_with_kubectl() {
    for kind in ["StatefulSet", "DaemonSet"] {
        let pair = RolloutPair::new(kind).await;
        pair.both(json!({ "action": "undo" }), "undo").await;
        assert!(pair.same(TEMPLATE).await.contains("web:2"));
        pair.finish().await;
        pair.both(json!({ "action": "undo", "toRevision": 1 }), "undo --to-revision=1").await;
        assert!(pair.same(TEMPLATE).await.contains("web:1"));
        pair.finish().await;
        let skipped = pair.ours(json!({ "action": "undo", "toRevision": 5 })).await.json();
        assert_eq!(skipped["action"], "skipped rollback (current template already matches revision 5)");
        pair.neither(json!({ "action": "undo", "toRevision": 9 }), "undo --to-revision=9").await;
        pair.neither(json!({ "action": "pause" }), "pause").await;
        pair.both(json!({ "action": "restart" }), "restart").await;
    }
}

#[tokio::test]
async fn a_rollout_is_followed_until_it_is_done() {
    let pair = RolloutPair::new("Deployment").await;
    let now = pair.ours(json!({ "action": "status" })).await.text();
    let theirs = pair.theirs("status").await.unwrap();
    let line = json!({ "done": true, "message": theirs.trim() });
    assert_eq!(now, format!("{line}\n"));

    pair.cluster.kubectl(&["-n", &pair.ours, "rollout", "pause", "deployment/web"]).await.unwrap();
    pair.apply(&pair.ours, "web:4").await;
    let target = json!({ "kind": "Deployment", "namespace": pair.ours, "name": "web" });
    let verb = json!({ "verb": "rollout", "target": target, "action": "status", "follow": true });
    let operation = OperationId::fresh();
    pair.bench.submit_as(operation, &verb, Duration::from_mins(2));
    let first = pair.bench.next().await;
    let said = String::from_utf8_lossy(&first.chunk).into_owned();
    assert!(first.ending.is_none() && said.contains("Waiting for deployment"), "{said}");
    pair.cluster.kubectl(&["-n", &pair.ours, "rollout", "resume", "deployment/web"]).await.unwrap();
    let mut text = said;
    loop {
        let part = pair.bench.next().await;
        text.push_str(&String::from_utf8_lossy(&part.chunk));
        if part.ending.is_some() {
            break;
        }
    }
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last, json!({ "message": "deployment \"web\" successfully rolled out", "done": true }));
}
