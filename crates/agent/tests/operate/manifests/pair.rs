//! Two namespaces of one cluster: kubectl works in one, and we in the other.

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use spindrift_kubernetes::LAST_APPLIED;
use spindrift_model::Outcome;
use spindrift_testkit::Cluster;

use crate::support::{Bench, Done};

pub(crate) struct Pair {
    pub(crate) cluster: &'static Cluster,
    bench: Bench,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

// === impl Pair ===

impl Pair {
    pub(crate) async fn new(test: &str) -> anyhow::Result<Self> {
        Self::configured(test, json!({})).await
    }

    /// With `kubernetes.serverSideApply` as given.
    pub(crate) async fn configured(test: &str, server_side_apply: Value) -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        let settings = json!({ "kubernetes": { "serverSideApply": server_side_apply } });
        let bench = Bench::with(cluster.kubeconfig(), json!({}), settings).await;
        let (ours, theirs) = (cluster.namespace(test).await?, cluster.namespace(test).await?);
        Ok(Self { cluster, bench, ours, theirs })
    }

    /// Does a verb, and gives its answer.
    pub(crate) async fn run(&self, verb: Value) -> anyhow::Result<(u16, Value)> {
        let done = self.bench.run(verb).await;
        match done.outcome {
            Outcome::Succeeded { code } => Ok((code, done.json())),
            Outcome::Failed(error) => bail!("{error:?}"),
        }
    }

    /// Does a verb that is refused, and gives the Status.
    pub(crate) async fn refusal(&self, verb: Value) -> anyhow::Result<Value> {
        Ok(self.bench.run(verb).await.refusal())
    }

    /// Does several at once, and gives their answers.
    pub(crate) async fn run_all(&self, verbs: &[Value]) -> Vec<Value> {
        let operations: Vec<_> = verbs.iter().map(|verb| self.bench.submit(verb)).collect();
        self.bench.answers(&operations).await.iter().map(Done::json).collect()
    }

    pub(crate) async fn apply(&self, manifest: &Value) -> anyhow::Result<(u16, Value)> {
        self.run(json!({ "verb": "apply", "namespace": self.ours, "manifest": manifest })).await
    }

    pub(crate) async fn kubectl(&self, args: &str, input: &Value) -> anyhow::Result<String> {
        let mut all = vec!["-n", &self.theirs];
        all.extend(args.split_whitespace());
        self.cluster.kubectl_stdin(&all, &input.to_string()).await
    }

    /// Error of kubectl and the API server.
    pub(crate) async fn kubectl_fails(&self, args: &str, input: &Value) -> anyhow::Result<String> {
        match self.kubectl(args, input).await {
            Ok(output) => bail!("kubectl {args} succeeded: {output}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// Runs the same command in both namespaces, as another client.
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

    /// Applies a manifest on both sides: output and stored object are the same.
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

    /// Object without the fields that differ between any two. Managed fields must be the same.
    fn comparable(&self, mut object: Value) -> Value {
        let metadata = object["metadata"].as_object_mut().expect("an object has metadata");
        for volatile in ["uid", "resourceVersion", "creationTimestamp", "namespace", "generation"] {
            metadata.remove(volatile);
        }
        // They are sorted by their times, which are whole seconds.
        if let Some(Value::Array(owners)) = metadata.get_mut("managedFields") {
            owners.iter_mut().filter_map(Value::as_object_mut).for_each(|owner| _ = owner.remove("time"));
            owners.sort_by_key(ToString::to_string);
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
