//! An account in reach of verbs, and kubectl beside it.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use spindrift_agent::{
    account::{Accounts, Preparation},
    board::Board,
    config::{AccountConfig, AgentConfig, ServerSideApply},
    metrics::Metrics,
    operate::{Answer, AnswerSink, Failure, Gone, Hand, run},
    watch::Budgets,
};
use spindrift_kubernetes::{ApiOptions, LAST_APPLIED};
use spindrift_model::{Content, Verb};
use spindrift_testkit::Cluster;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Two namespaces of one cluster: kubectl works in one, and we in the other.
pub(crate) struct Pair {
    pub(crate) cluster: &'static Cluster,
    pub(crate) hand: Hand,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// Verbs with manifests answer at once.
struct NoPieces;

// === impl Pair ===

impl Pair {
    pub(crate) async fn new(test: &str) -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        let hand = hand(cluster).await?;
        let (ours, theirs) = (cluster.namespace(test).await?, cluster.namespace(test).await?);
        Ok(Self { cluster, hand, ours, theirs })
    }

    /// Does a verb, given as JSON, and gives the code and the answer.
    pub(crate) async fn run(&self, verb: Value) -> anyhow::Result<(u16, Value)> {
        match self.attempt(verb).await? {
            Ok(answered) => Ok(answered),
            Err(failure) => bail!("{failure:?}"),
        }
    }

    /// Does a verb that may fail.
    pub(crate) async fn attempt(&self, verb: Value) -> anyhow::Result<Result<(u16, Value), Failure>> {
        attempt(&self.hand, verb).await
    }

    /// Does a verb that the API server refuses, and gives its Status.
    pub(crate) async fn refusal(&self, verb: Value) -> anyhow::Result<Value> {
        match self.attempt(verb).await? {
            Err(Failure::Refused { code, status }) => {
                let status: Value = serde_json::from_slice(&status)?;
                ensure!(status["code"] == code, "{status}");
                Ok(status)
            }
            other => bail!("not refused: {other:?}"),
        }
    }

    pub(crate) async fn apply(&self, manifest: &Value) -> anyhow::Result<(u16, Value)> {
        self.run(json!({ "verb": "apply", "namespace": self.ours, "manifest": manifest })).await
    }

    pub(crate) async fn kubectl(&self, args: &str, input: &Value) -> anyhow::Result<String> {
        let mut all = vec!["-n", &self.theirs];
        all.extend(args.split_whitespace());
        self.cluster.kubectl_stdin(&all, &input.to_string()).await
    }

    /// What kubectl and the API server say against it.
    pub(crate) async fn kubectl_fails(&self, args: &str, input: &Value) -> anyhow::Result<String> {
        match self.kubectl(args, input).await {
            Ok(output) => bail!("kubectl {args} succeeded: {output}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// The same command in both namespaces, as somebody else.
    pub(crate) async fn meanwhile(&self, args: &[&str]) -> anyhow::Result<()> {
        for namespace in [&self.ours, &self.theirs] {
            let all: Vec<&str> = ["-n", namespace].into_iter().chain(args.iter().copied()).collect();
            self.cluster.kubectl(&all).await?;
        }
        Ok(())
    }

    /// An object of ours as it is stored.
    pub(crate) async fn our(&self, object: &str) -> anyhow::Result<Value> {
        self.stored(&self.ours, object).await
    }

    pub(crate) async fn their(&self, object: &str) -> anyhow::Result<Value> {
        self.stored(&self.theirs, object).await
    }

    async fn stored(&self, namespace: &str, object: &str) -> anyhow::Result<Value> {
        let args = ["-n", namespace, "get", object, "-o", "json", "--show-managed-fields"];
        let text = self.cluster.kubectl(&args).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Applies a manifest on both sides: the words are the same, and so is what is stored then.
    pub(crate) async fn both_apply(&self, manifest: &Value, options: &str) -> anyhow::Result<Value> {
        let said = self.kubectl(&format!("apply {options} -f -"), manifest).await?;
        let server_side = options.contains("--server-side");
        let (_, answer) = self
            .run(json!({
                "verb": "apply", "namespace": self.ours, "manifest": manifest,
                "mode": if server_side { "server-side" } else { "client-side" },
                "forceConflicts": options.contains("--force-conflicts"),
            }))
            .await?;
        let word = answer["action"].as_str().context("an action")?;
        let last = said.trim_end().rsplit(' ').next().context("kubectl says something")?;
        ensure!(last == word, "kubectl says {said}, and we {word}");
        let name = manifest["metadata"]["name"].as_str().context("a name")?;
        let kind = manifest["kind"].as_str().context("a kind")?.to_lowercase();
        self.assert_same(&format!("{kind}/{name}")).await?;
        Ok(answer)
    }

    /// Whether both sides have the same object.
    pub(crate) async fn assert_same(&self, object: &str) -> anyhow::Result<()> {
        let (ours, theirs) = (self.our(object).await?, self.their(object).await?);
        let (ours, theirs) = (self.comparable(ours), self.comparable(theirs));
        ensure!(ours == theirs, "ours:   {ours}\ntheirs: {theirs}");
        Ok(())
    }

    /// Without what differs between any two objects. Who owns what must be the same.
    fn comparable(&self, mut object: Value) -> Value {
        let metadata = object["metadata"].as_object_mut().expect("an object has metadata");
        for volatile in ["uid", "resourceVersion", "creationTimestamp", "namespace", "generation"] {
            metadata.remove(volatile);
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry.as_object_mut().expect("an entry").remove("time");
        }
        if let Some(Value::String(applied)) =
            metadata.get_mut("annotations").and_then(|annotations| annotations.get_mut(LAST_APPLIED))
        {
            *applied = applied.replace(&self.ours, "namespace").replace(&self.theirs, "namespace");
        }
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
            for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                port.as_object_mut().expect("a port").remove("nodePort");
            }
        }
        object
    }
}

pub(crate) async fn attempt(hand: &Hand, verb: Value) -> anyhow::Result<Result<(u16, Value), Failure>> {
    let verb: Verb = serde_json::from_value(verb)?;
    match run(hand, verb, &NoPieces).await {
        Ok(Answer { code, body }) => Ok(Ok((code, serde_json::from_slice(&body)?))),
        Err(failure) => Ok(Err(failure)),
    }
}

/// As a user's configuration would have it.
pub(crate) fn configured(hand: &Hand, server_side_apply: &str) -> anyhow::Result<Hand> {
    let server_side_apply: ServerSideApply = serde_json::from_str(server_side_apply)?;
    Ok(Hand { server_side_apply: Arc::new(server_side_apply), ..hand.clone() })
}

async fn hand(cluster: &Cluster) -> anyhow::Result<Hand> {
    let config = AgentConfig::default();
    let name = "tested";
    let account = AccountConfig {
        name: name.into(),
        kubeconfig_file: Some(cluster.kubeconfig().to_string_lossy().into_owned()),
        ..AccountConfig::default()
    };
    let board = Board::default();
    let preparation = Preparation {
        config: account,
        options: ApiOptions { no_proxy: true, ..ApiOptions::default() },
        board: board.clone(),
        metrics: Arc::new(Metrics::register(&mut Registry::default(), board)),
        budgets: Budgets::new(config.limits()),
        pace: config.kubernetes.watches.pace(),
    };
    let (ready_tx, ready_rx) = watch::channel(Accounts::default());
    preparation.run(ready_tx, CancellationToken::new()).await?;
    let account = ready_rx.borrow().values().next().context("it is ready")?.clone();
    Ok(Hand {
        account,
        server_side_apply: Arc::new(config.kubernetes.server_side_apply.clone()),
        retries: config.kubernetes.retries.clone(),
        deadline: Instant::now() + Duration::from_mins(5),
        cancelled: CancellationToken::new(),
    })
}

// === impl NoPieces ===

impl AnswerSink for NoPieces {
    fn begin(&self, _: Content) {}

    async fn send(&self, _: Bytes) -> Result<(), Gone> {
        Ok(())
    }
}
