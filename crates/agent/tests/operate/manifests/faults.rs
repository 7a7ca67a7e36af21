//! Manifests on an API server that fails: the playground does so on demand.

use std::{fs, sync::Arc, time::Duration};

use serde_json::{Value, json};
use spindrift_model::ErrorKind;
use spindrift_playground::{Cluster, Effect, Fault, FaultId, Faults, Playground, Verb};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::scratch;
use tempfile::TempDir;

use crate::support::{Bench, Done};

struct Troubled {
    bench: Bench,
    faults: Arc<Faults>,
    _playground: Playground,
    _files: TempDir,
    shutdown: Shutdown,
}

// === impl Troubled ===

impl Troubled {
    async fn start() -> anyhow::Result<Self> {
        let shutdown = Shutdown::new();
        let playground = Playground::bind(([127, 0, 0, 1], 0).into()).await?;
        let cluster = Cluster::new("troubled");
        let faults = Faults::before(&cluster);
        playground.add(cluster);
        playground.start(&shutdown);
        let files = scratch("playground")?;
        let kubeconfig = files.path().join("kubeconfig");
        fs::write(&kubeconfig, playground.kubeconfig())?;
        let bench = Bench::with(&kubeconfig, json!({}), json!({})).await;
        Ok(Self { bench, faults, _playground: playground, _files: files, shutdown })
    }

    async fn apply(&self, data: Value) -> Done {
        let manifest =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
        self.bench.run(json!({ "verb": "apply", "manifest": manifest })).await
    }

    fn inject(&self, effect: Effect, times: u32) -> FaultId {
        self.faults.inject(Fault::new(effect).of_verbs([Verb::Patch]).times(times))
    }

    fn hits(&self, fault: FaultId) -> u32 {
        self.faults.hits(fault).expect("it is there until it is lifted")
    }

    async fn data(&self) -> Value {
        let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a" });
        self.bench.run(json!({ "verb": "get", "target": target })).await.json()["data"].clone()
    }
}

impl Drop for Troubled {
    fn drop(&mut self) {
        self.shutdown.trigger();
    }
}

const CONFLICT: Effect = Effect::Status { code: 409, retry_after: None };

#[tokio::test]
async fn what_has_changed_meanwhile_is_computed_anew() -> anyhow::Result<()> {
    let troubled = Troubled::start().await?;
    assert_eq!(troubled.apply(json!({ "a": "1" })).await.json()["action"], "created");
    let fault = troubled.inject(CONFLICT, 2);
    assert_eq!(troubled.apply(json!({ "a": "2" })).await.json()["action"], "configured");
    assert_eq!((troubled.hits(fault), troubled.data().await), (2, json!({ "a": "2" })));

    // As often as kubectl tries, and not more often.
    let fault = troubled.inject(CONFLICT, 100);
    let refused = troubled.apply(json!({ "a": "3" })).await.refusal();
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(409), &json!("Conflict")));
    assert_eq!((troubled.hits(fault), troubled.data().await), (6, json!({ "a": "2" })));
    Ok(())
}

#[tokio::test]
async fn what_was_turned_away_at_the_door_knocks_again() -> anyhow::Result<()> {
    let troubled = Troubled::start().await?;
    troubled.apply(json!({ "a": "1" })).await.json();
    let fault = troubled.inject(Effect::Status { code: 429, retry_after: Some(Duration::from_secs(1)) }, 2);
    assert_eq!(troubled.apply(json!({ "a": "2" })).await.json()["action"], "configured");
    assert_eq!((troubled.hits(fault), troubled.data().await), (2, json!({ "a": "2" })));
    Ok(())
}

#[tokio::test]
async fn a_change_without_an_answer_is_unknown_and_not_sent_again() -> anyhow::Result<()> {
    let troubled = Troubled::start().await?;
    troubled.apply(json!({ "a": "1" })).await.json();
    let fault = troubled.inject(Effect::Cut, 100);
    let done = troubled.apply(json!({ "a": "2" })).await;
    assert_eq!(done.error().kind, ErrorKind::OutcomeUnknown);
    assert_eq!(troubled.hits(fault), 1, "it was sent once");
    troubled.faults.lift(fault);
    assert_eq!(troubled.apply(json!({ "a": "2" })).await.json()["action"], "configured");
    Ok(())
}

/// A playground serves no schemas: lists are merged by the built-in keys.
#[tokio::test]
async fn what_is_applied_again_where_no_schemas_are_told_is_unchanged() -> anyhow::Result<()> {
    let troubled = Troubled::start().await?;
    let deployment = |image: &str| {
        let containers = json!([
            { "name": "web", "image": image, "ports": [{ "containerPort": 80 }] },
            { "name": "side", "image": "side:1", "env": [{ "name": "A", "value": "1" }] },
        ]);
        let template =
            json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": containers } });
        let spec =
            json!({ "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": template });
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "default" }, "spec": spec })
    };
    for (image, expected) in
        [("web:1", "created"), ("web:1", "unchanged"), ("web:2", "configured"), ("web:2", "unchanged")]
    {
        let done = troubled.bench.run(json!({ "verb": "apply", "manifest": deployment(image) })).await.json();
        assert_eq!(done["action"], expected, "{done}");
        assert_eq!(
            done["object"]["spec"]["template"]["spec"]["containers"].as_array().map(Vec::len),
            Some(2)
        );
    }
    Ok(())
}
