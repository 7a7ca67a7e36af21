//! The agent as a real pod: an image, a Deployment, kubelet, containerd and runc, on a node of the test's own.
//!
//! ```text
//! hub (machine) ◀── forward ──  10.88.0.1 ◀── agent (pod, non-root, service account) ──▶ https://10.96.0.1 (API server)
//! ```
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod manifests;

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::{Database, HubProcess, Node, NodeImage, binary, eventually};

use crate::manifests::{AgentPod, NAMESPACE, Token};

/// Long enough for a pod to start on a loaded machine, and for kubelet to replace a file.
const LONG: Duration = Duration::from_mins(2);

/// A node, and a hub on the machine that pods reach.
struct World {
    hub: HubProcess,
    /// The hub, as pods dial it.
    address: String,
    node: Node,
    _database: Database,
}

// === impl World ===

impl World {
    async fn start() -> Self {
        let program = binary("spindrift-agent").unwrap();
        let images = [NodeImage { name: manifests::IMAGE.into(), program }];
        let database = Database::sqlite().unwrap();
        let settings = [("/kubesvc/cache/cacheKinds", json!(["ConfigMap", "Pod", "Deployment", "Secret"]))];
        let (node, hub) =
            tokio::join!(Node::start(&images), HubProcess::start("hub-a", &database, &settings));
        let (node, hub) = (node.unwrap(), hub.unwrap());
        let address = node.expose(hub.grpc()).unwrap().to_string();
        let world = Self { hub, address, node, _database: database };
        world.apply(&manifests::permissions()).await;
        world
    }

    async fn apply(&self, manifest: &str) {
        self.node.kubectl(&["apply", "-f", "-"], manifest).await.unwrap();
    }

    async fn kubectl(&self, args: &[&str]) -> String {
        self.node.kubectl(&[args, &["--namespace", NAMESPACE]].concat(), "").await.unwrap()
    }

    async fn start_agent(&self, pod: &AgentPod<'_>) {
        self.apply(&pod.manifest(&self.address)).await;
        let deployment = format!("deployment/{}", pod.name);
        let ready = self.kubectl(&["rollout", "status", &deployment, "--timeout=120s"]).await;
        assert!(ready.contains("successfully rolled out"), "{ready}\n{}", self.node.log("kubelet"));
    }

    async fn is_stored(&self, account: &str, kind: &str, name: &str) -> bool {
        let query = [("account", account), ("kind", kind), ("namespace", NAMESPACE)];
        self.hub.objects(&query).await.unwrap().iter().any(|object| object.name.starts_with(name))
    }

    /// Status of a live read of a ConfigMap.
    async fn read(&self, account: &str) -> (u16, Value) {
        let target = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "namespace": NAMESPACE, "name": "kube-root-ca.crt",
        });
        let answer = self.hub.operations(account).ask(&json!({ "verb": "get", "target": target })).await;
        let answer = answer.unwrap();
        (answer.code, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    /// Restarts of all containers.
    async fn restarts(&self) -> String {
        self.kubectl(&["get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}"])
            .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_runs_as_a_pod_and_takes_up_the_token_that_kubelet_replaces() {
    let world = World::start().await;

    // The token that Kubernetes mounts by itself, for a pod that has no rights on its node.
    world.start_agent(&AgentPod { name: "agent", account: "mounted", token: Token::OfKubelet }).await;
    eventually!("its own pod is stored", LONG, world.is_stored("mounted", "Pod", "agent-").await);
    eventually!("its Deployment is stored", LONG, world.is_stored("mounted", "Deployment", "agent").await);
    let (code, object) = world.read("mounted").await;
    assert_eq!((code, &object["metadata"]["name"]), (200, &json!("kube-root-ca.crt")), "{object}");
    eventually!("Secrets are denied, which the documented role does not grant", LONG, {
        let watches = world.hub.get("/v1/watches?account=mounted").await.unwrap();
        let mut watches = watches.as_array().unwrap().iter();
        watches.any(|watch| watch["kind"] == "Secret" && watch["denied"].is_string())
    });

    // A token of the TokenRequest API that is bound to a Secret, in a volume that kubelet updates: Kubernetes issues none
    // for less than ten minutes, and replaces its own after eight.
    let first = token(&world, "first").await;
    write_token(&world, &first).await;
    world.start_agent(&AgentPod { name: "rotated", account: "rotated", token: Token::OfSecret }).await;
    eventually!("its pod is stored", LONG, world.is_stored("rotated", "Pod", "rotated-").await);
    assert_eq!(world.read("rotated").await.0, 200);
    let registrations = world.hub.metric("spindrift_hub_registrations_total").await.unwrap();

    let second = token(&world, "second").await;
    world.kubectl(&["delete", "secret", "first"]).await;
    eventually!("the first token is refused", LONG, world.read("rotated").await.0 == 401);
    write_token(&world, &second).await;
    eventually!("the second token is used", LONG, world.read("rotated").await.0 == 200);
    world.kubectl(&["create", "configmap", "after"]).await;
    eventually!("changes arrive", LONG, world.is_stored("rotated", "ConfigMap", "after").await);
    assert_eq!(world.hub.metric("spindrift_hub_registrations_total").await.unwrap(), registrations);
    assert_eq!(world.restarts().await, "0 0");
}

/// Requests a token that is valid as long as a new Secret of this name exists.
async fn token(world: &World, secret: &str) -> String {
    world.kubectl(&["create", "secret", "generic", secret]).await;
    let bound = format!("--bound-object-name={secret}");
    let args = ["create", "token", manifests::SERVICE_ACCOUNT, "--duration=10m"];
    world.kubectl(&[&args[..], &["--bound-object-kind=Secret", &bound]].concat()).await
}

/// Writes the Secret from which kubelet fills the volume.
async fn write_token(world: &World, token: &str) {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": manifests::TOKEN_SECRET, "namespace": NAMESPACE },
        "stringData": { "token": token.trim() },
    });
    world.apply(&secret.to_string()).await;
}
