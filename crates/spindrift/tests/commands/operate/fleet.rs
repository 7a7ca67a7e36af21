//! A real cluster under two names, and the real kubectl for it.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, Kubectl, eventually};
use tokio::sync::OnceCell;

use crate::support::{CommandOutput, LONG, Shell};

/// The names of the cluster.
pub(super) const ACCOUNTS: [&str; 2] = ["east", "west"];

/// Shared by all tests; each has namespaces of its own.
pub(super) struct Fleet {
    pub(super) cluster: &'static Cluster,
    pub(super) hub: HubProcess,
    kubectl: Kubectl,
    _agent: AgentProcess,
    _database: Database,
}

/// Two namespaces in which the same things happen: by kubectl in one, by us in the other.
pub(super) struct Twins {
    pub(super) fleet: &'static Fleet,
    pub(super) shell: Shell,
    pub(super) ours: String,
    pub(super) theirs: String,
}

// === impl Fleet ===

impl Fleet {
    pub(super) async fn shared() -> &'static Self {
        static SHARED: OnceCell<Fleet> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let cluster = Cluster::shared().await.unwrap();
        let database = Database::sqlite().unwrap();
        let settings = [("/kubesvc/cache/cacheKinds", json!(["Namespace", "ConfigMap"]))];
        let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
        let accounts = ACCOUNTS.map(|name| json!({ "name": name, "kubeconfigFile": cluster.kubeconfig() }));
        let agent = AgentProcess::start("agent-a", hub.grpc(), &json!(accounts)).unwrap();
        eventually!("both accounts are cached", LONG, {
            let known = hub.get("/v1/accounts").await?;
            let cached =
                |account: &serde_json::Value| account["cachedBy"] == "agent-a" && account["listing"] == 0;
            anyhow::ensure!(
                known.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(cached)),
                "{known}"
            );
            Ok(())
        });
        let kubectl = Kubectl::with(cluster.kubeconfig()).await.unwrap();
        Self { cluster, hub, kubectl, _agent: agent, _database: database }
    }

    /// Runs kubectl, however it ends.
    pub(super) async fn kubectl(&self, args: &[&str], input: &str) -> CommandOutput {
        let output = self.kubectl.output(args, input).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

// === impl Twins ===

impl Twins {
    pub(super) async fn new(prefix: &str) -> Self {
        let fleet = Fleet::shared().await;
        let namespace = async || fleet.cluster.namespace(prefix).await.unwrap();
        let (ours, theirs) = (namespace().await, namespace().await);
        Self { fleet, shell: Shell::new(Some(&fleet.hub)), ours, theirs }
    }

    /// We, in one account.
    pub(super) fn spindrift(&self, args: &[&str], input: &str) -> CommandOutput {
        let place = ["-n", &self.ours, "-a", ACCOUNTS[0]];
        self.shell.spindrift_stdin(&[args, &place].concat(), input)
    }

    /// Kubectl; its namespace is called as ours.
    pub(super) async fn kubectl(&self, args: &[&str], input: &str) -> CommandOutput {
        let CommandOutput { code, out, err } =
            self.fleet.kubectl(&[args, &["-n", &self.theirs]].concat(), input).await;
        let ours = |text: String| text.replace(&self.theirs, &self.ours);
        CommandOutput { code, out: ours(out), err: ours(err) }
    }

    /// Both have the same effect, output and exit code.
    pub(super) async fn agree(&self, args: &[&str], input: &str) -> CommandOutput {
        let theirs = self.kubectl(args, input).await;
        let ours = self.spindrift(args, input);
        let all = |said: &CommandOutput| (said.out.clone(), said.err.clone(), said.code);
        assert_eq!(all(&ours), all(&theirs), "{args:?}: ours, then kubectl's");
        ours
    }
}
