//! Real clusters, a hub and an agent that serves both.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, ClusterBuilder, Database, HubProcess, eventually};
use tokio::sync::OnceCell;

use crate::{
    actor::{Actor, KubectlActor, SpindriftActor, SpindriftCommand},
    logs,
    testbed::Testbed,
};

pub(crate) struct World {
    /// Only an API server.
    pub(crate) bare: Testbed,
    /// Started when it is first needed.
    living: OnceCell<Living>,
    workers: usize,
    _stack: Stack,
}

/// A cluster with controllers, whose containers have logs.
pub(crate) struct Living {
    // The order of the fields is the order of their end.
    pub(crate) testbed: Testbed,
    pub(crate) stack: Stack,
    pub(crate) cluster: Cluster,
}

/// A hub and its agent, with one account.
pub(crate) struct Stack {
    // The order of the fields is the order of their end.
    _agent: AgentProcess,
    pub(crate) hub: HubProcess,
    _database: Database,
}

pub(crate) const ACCOUNT: &str = "parity";

// === impl World ===

impl World {
    pub(crate) async fn start(workers: usize) -> Self {
        let cluster = Cluster::shared().await.unwrap();
        let (bare, stack) = testbed(cluster, workers).await;
        Self { bare, living: OnceCell::new(), workers, _stack: stack }
    }

    pub(crate) async fn living(&self) -> &Living {
        let living = async || {
            let builder = logs::written().into_iter().fold(Cluster::builder(), ClusterBuilder::log);
            let cluster = builder.controllers().start().await.unwrap();
            let (testbed, stack) = testbed(&cluster, self.workers).await;
            Living { testbed, stack, cluster }
        };
        self.living.get_or_init(living).await
    }
}

async fn testbed(cluster: &Cluster, workers: usize) -> (Testbed, Stack) {
    let kubectl = KubectlActor::new(cluster.kubeconfig()).await;
    let stack = Stack::start(cluster).await;
    let ours = SpindriftActor::new(stack.hub.operations(ACCOUNT), stack.command());
    let testbed = Testbed::new(cluster, [Actor::Kubectl(kubectl), Actor::Spindrift(ours)]);
    testbed.prepare(workers).await;
    (testbed, stack)
}

// === impl Stack ===

impl Stack {
    /// Starts both for one account, and waits until it can be asked.
    async fn start(cluster: &Cluster) -> Self {
        let account = json!({ "name": ACCOUNT, "kubeconfigFile": cluster.kubeconfig() });
        let database = Database::sqlite().unwrap();
        // Something is cached, as in production, but nothing that changes here all the time.
        let settings = [("/kubesvc/cache/cacheKinds", json!(["Namespace"]))];
        let hub = HubProcess::start("hub", &database, &settings).await.unwrap();
        let agent = AgentProcess::start("agent", hub.grpc(), &json!([account])).unwrap();
        let stack = Self { _agent: agent, hub, _database: database };
        let operations = stack.hub.operations(ACCOUNT);
        eventually!("the account can be asked", {
            let answer = operations.ask(&json!({ "verb": "list", "kind": "Namespace" })).await.unwrap();
            if answer.is_done() { Ok(()) } else { Err(answer.status().to_string()) }
        });
        stack
    }

    /// The command line for this hub.
    pub(crate) fn command(&self) -> SpindriftCommand {
        SpindriftCommand::new(self.hub.url())
    }
}
