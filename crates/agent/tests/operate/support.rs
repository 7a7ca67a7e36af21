//! An executor with one account, and a hub that only listens.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use spindrift_agent::{
    accounts::Accounts, accounts::configured::ConfiguredAccounts, config::AgentConfig, metrics::Metrics,
    operate::Executor, status::AgentStatus, watch::Budgets,
};
use spindrift_model::{AccountName, Ending, OperationError, OperationId, Outcome};
use spindrift_process::shutdown::Shutdown;
use spindrift_protocol::{EncodedOperation, ResultPart, ResultsDown};
use spindrift_testkit::{Cluster, PATIENCE};
use tokio::{sync::watch, time::timeout};

pub(crate) const ACCOUNT: &str = "prod";

/// An agent's half of operations, without a link.
pub(crate) struct Bench {
    pub(crate) executor: Executor,
    _configured: ConfiguredAccounts,
    shutdown: Shutdown,
}

/// Result of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) body: Vec<u8>,
    pub(crate) outcome: Outcome,
}

// === impl Bench ===

impl Bench {
    /// With the account of a cluster's administrator.
    pub(crate) async fn new(cluster: &Cluster) -> Self {
        Self::with(cluster.kubeconfig(), json!({}), json!({})).await
    }

    /// With an account that has more settings, and an agent that has.
    pub(crate) async fn with(kubeconfig: &Path, account: Value, agent: Value) -> Self {
        let mut settings = json!({ "name": ACCOUNT, "kubeconfigFile": kubeconfig, "noProxy": true });
        merge(&mut settings, account);
        let mut config = json!({ "kubernetes": { "accounts": [settings] } });
        merge(&mut config, agent);
        let config: AgentConfig = serde_json::from_value(config).unwrap();
        let shutdown = Shutdown::new();
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), AgentStatus::default()));
        let (ready_tx, mut ready_rx) = watch::channel(Accounts::new());
        let budgets = Budgets::new(config.limits());
        let mut configured = ConfiguredAccounts::new(
            ready_tx,
            AgentStatus::default(),
            metrics.clone(),
            budgets,
            shutdown.clone(),
        );
        let changes = configured.apply(&config, &[]).await;
        assert!(changes.problems.is_empty(), "{changes:?}");
        timeout(PATIENCE, ready_rx.wait_for(|accounts| !accounts.is_empty())).await.unwrap().unwrap();
        let executor = Executor::new(&config, ready_rx, metrics, &shutdown);
        executor.results().begin_session();
        Self { executor, _configured: configured, shutdown }
    }

    /// Asks for something, and gives its id.
    pub(crate) fn submit(&self, verb: &Value) -> OperationId {
        let operation = OperationId::fresh();
        self.submit_as(operation, verb, Duration::from_secs(30));
        operation
    }

    pub(crate) fn submit_as(&self, operation: OperationId, verb: &Value, time_left: Duration) {
        let account = AccountName::parse(ACCOUNT).unwrap();
        let verb = verb.to_string().into();
        self.executor.submit(EncodedOperation { id: operation, account, time_left, verb });
    }

    /// Waits for the next piece of any result.
    pub(crate) async fn next(&self) -> ResultPart {
        timeout(PATIENCE, self.executor.results().next()).await.expect("an answer comes")
    }

    /// Reads results until this one is complete, and acknowledges it, as a hub does.
    pub(crate) async fn answer(&self, operation: OperationId) -> Done {
        self.answers(&[operation]).await.remove(0)
    }

    /// The same for several, in the order in which they were asked for.
    pub(crate) async fn answers(&self, operations: &[OperationId]) -> Vec<Done> {
        let mut bodies: HashMap<OperationId, Vec<u8>> = HashMap::new();
        let mut done = HashMap::new();
        while done.len() < operations.len() {
            let ResultPart { operation, offset, chunk, ending, .. } = self.next().await;
            let body = bodies.entry(operation).or_default();
            body.truncate(usize::try_from(offset).unwrap());
            assert_eq!(body.len() as u64, offset, "nothing is left out");
            body.extend_from_slice(&chunk);
            let credit = body.len() as u64 + 1024 * 1024;
            self.executor.results().acknowledge(ResultsDown::Credit(operation, credit));
            if let Some(Ending { outcome, .. }) = ending {
                self.executor.results().acknowledge(ResultsDown::Done(operation));
                done.insert(operation, Done { body: bodies.remove(&operation).unwrap(), outcome });
            }
        }
        operations.iter().map(|operation| done[operation].clone()).collect()
    }

    /// Executes a verb and waits for its result.
    pub(crate) async fn run(&self, verb: Value) -> Done {
        self.answer(self.submit(&verb)).await
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.shutdown.trigger();
    }
}

// === impl Done ===

impl Done {
    /// Answer of an operation that succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let Outcome::Succeeded { .. } = self.outcome else { panic!("it was not done: {}", self.words()) };
        serde_json::from_slice(&self.body).expect("answers are JSON")
    }

    #[track_caller]
    pub(crate) fn text(&self) -> String {
        let Outcome::Succeeded { .. } = self.outcome else { panic!("it was not done: {}", self.words()) };
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Error of an operation that did not succeed.
    #[track_caller]
    pub(crate) fn error(&self) -> &OperationError {
        match &self.outcome {
            Outcome::Failed(error) => error,
            Outcome::Succeeded { .. } => panic!("it succeeded: {self:?}"),
        }
    }

    /// Status of a refused operation.
    #[track_caller]
    pub(crate) fn refusal(&self) -> Value {
        let error = self.error();
        let status: Value = serde_json::from_slice(&error.status).unwrap();
        assert_eq!(status["code"], error.code);
        status
    }

    /// Code and message of a refused operation.
    #[track_caller]
    pub(crate) fn refused(&self) -> (u64, String) {
        let status = self.refusal();
        (status["code"].as_u64().unwrap(), status["message"].as_str().unwrap().to_owned())
    }

    fn words(&self) -> String {
        match &self.outcome {
            Outcome::Failed(error) => String::from_utf8_lossy(&error.status).into_owned(),
            Outcome::Succeeded { code } => format!("it succeeded with {code}"),
        }
    }
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
