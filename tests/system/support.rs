//! Shared by most tests of this suite.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, FaultProxy, HubProcess, eventually};

/// Long enough for a listing of some hundred objects on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Kind that these tests have the hub cache, so that other objects of a cluster do not matter.
pub(crate) const CONFIG_MAPS: (&str, &str, &str, &str) = ("", "v1", "ConfigMap", "configmaps");

/// An agent and a hub on one cluster and one database, with a link between them that can be broken.
pub(crate) struct Stack {
    pub(crate) agent: AgentProcess,
    pub(crate) link: FaultProxy,
    pub(crate) hub: HubProcess,
    pub(crate) database: Database,
}

// === impl Stack ===

impl Stack {
    /// Starts a hub that wants these kinds, and an agent with one account, `main`.
    pub(crate) async fn start(cluster: &Cluster, database: Database, kinds: &[&str]) -> Self {
        let accounts = json!([account("main", cluster)]);
        Self::with_accounts(database, kinds, accounts).await
    }

    pub(crate) async fn with_accounts(database: Database, kinds: &[&str], accounts: Value) -> Self {
        let settings = [("/kubesvc/cache/cacheKinds", json!(kinds))];
        let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
        let link = FaultProxy::start(hub.grpc()).await.unwrap();
        let agent = AgentProcess::start("agent-a", link.addr(), &accounts).unwrap();
        Self { agent, link, hub, database }
    }

    /// The same with further settings of the agent, by their JSON pointers.
    pub(crate) async fn with_settings(kinds: &[&str], accounts: Value, settings: &[(&str, Value)]) -> Self {
        let mut stack = Self::with_accounts(Database::sqlite().unwrap(), kinds, json!([])).await;
        stack.agent.configure(|all| {
            all["kubernetes"] = json!({ "accounts": accounts });
            for (pointer, value) in settings {
                let place = pointer.split('/').skip(1).fold(&mut *all, |place, key| &mut place[key]);
                *place = value.clone();
            }
        });
        stack.agent.restart().unwrap();
        stack
    }

    /// A counter or gauge of the agent; a series with labels that does not exist yet is zero.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        self.agent.metric(name).await.unwrap()
    }

    /// An account as the hub shows it.
    pub(crate) async fn account(&self, name: &str) -> Value {
        let accounts = self.hub.get("/v1/accounts").await.unwrap();
        let found = accounts.as_array().unwrap().iter().find(|account| account["name"] == name);
        found.cloned().unwrap_or(Value::Null)
    }

    /// `Kind.group namespace/name` of all that the hub has of an account, in order.
    pub(crate) async fn names(&self, account: &str) -> Vec<String> {
        let objects = self.hub.objects(&[("account", account), ("limit", "1000")]).await.unwrap();
        let mut names: Vec<_> = objects
            .into_iter()
            .map(|object| format!("{}.{} {}/{}", object.kind, object.group, object.namespace, object.name))
            .collect();
        names.sort();
        names
    }

    /// Waits until the agent caches the account and the first listing is in the store.
    pub(crate) async fn synced(&self, account: &str) {
        eventually(&format!("{account} is watched"), LONG, || async {
            let watches = self.agent.get("/watches").await?;
            let states = watches[account].as_object().cloned().unwrap_or_default();
            let watching = states.get("watching").and_then(Value::as_array).map_or(0, Vec::len);
            let others: usize =
                states.iter().filter(|(state, _)| *state != "watching" && *state != "denied").count();
            anyhow::ensure!(watching > 0 && others == 0, "{watches}");
            Ok(())
        })
        .await;
    }
}

/// An account of the administrator's.
pub(crate) fn account(name: &str, cluster: &Cluster) -> Value {
    json!({ "name": name, "kubeconfigFile": cluster.kubeconfig() })
}

/// A manifest of many ConfigMaps, `prefix-0` and so on.
pub(crate) fn config_maps(namespace: &str, prefix: &str, count: usize, value: &str) -> String {
    let items: Vec<_> = (0..count)
        .map(|i| {
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": format!("{prefix}-{i}"), "namespace": namespace, "labels": { "batch": prefix } },
                "data": { "value": value },
            })
        })
        .collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

/// The definition of `Widget.example.com`, in a group of the test's own.
pub(crate) fn widget_crd(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": "Widget", "plural": "widgets" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}

/// An object of that kind.
pub(crate) fn widget(group: &str, namespace: &str, name: &str, size: u32) -> Value {
    json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "Widget",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "size": size },
    })
}
