//! Faults between the caller and the API server. Each test counts the effects in the API server: an operation never has
//! two, and one that may have had an effect is always reported.

mod outage;
mod two_agents;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use spindrift_model::OperationId;
use spindrift_playground::{Effect, Fault, FaultId, Faults, Verb};
use spindrift_testkit::eventually;

use super::{OperationAnswer, ask, remembered, try_ask};
use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// An agent and a hub before a simulated cluster that misbehaves on demand.
struct FaultSetup {
    stage: Stage,
    faults: Arc<Faults>,
    stack: Stack,
    account: String,
}

// === impl FaultSetup ===

impl FaultSetup {
    async fn set() -> Self {
        Self::with(&[]).await
    }

    /// The same with further settings of the agent, by their JSON pointers.
    async fn with(settings: &[(&str, Value)]) -> Self {
        let stage = Stage::set(1).await;
        let faults = Faults::before(&stage.fleet.clusters[0]);
        let account = stage.fleet.clusters[0].name().to_owned();
        let stack = Stack::with_settings(&["Secret"], json!(stage.accounts()), settings).await;
        stack.synced(&account).await;
        Self { stage, faults, stack, account }
    }

    /// Each time that it is done there is one ConfigMap more.
    fn create() -> Value {
        let metadata = json!({ "generateName": "effect-", "namespace": "default" });
        json!({ "verb": "create", "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata } })
    }

    fn effects(&self) -> usize {
        let all = self.stage.fleet.clusters[0].list("", "configmaps", Some("default"));
        let ours = all.iter().filter_map(|object| object["metadata"]["name"].as_str());
        ours.filter(|name| name.starts_with("effect-")).count()
    }

    /// The API server accepts the request to create an object, and does not answer it.
    fn hold(&self) -> FaultId {
        self.faults.inject(Fault::new(Effect::Freeze).of_verbs([Verb::Create]).of_resource("configmaps"))
    }

    async fn held(&self, fault: FaultId) {
        eventually!("the API server is asked", LONG, self.faults.hits(fault) == Some(1));
    }

    async fn ask(&self, query: &str, verb: &Value) -> OperationAnswer {
        ask(&self.stack.hub, &self.account, query, verb).await
    }

    /// Waits until the operation is in this state.
    async fn becomes(&self, id: &str, state: &str) -> Value {
        eventually!(format!("operation {id} is {state}"), LONG, {
            let operation = remembered(&self.stack.hub, id).await;
            if operation["state"] == state { Ok(operation) } else { Err(operation) }
        })
    }

    async fn connected(&self) {
        eventually!("the agent is connected", LONG, {
            self.stack.agent.get("/health").await.is_ok_and(|health| health["hub"] == "connected")
        });
    }
}

fn assert_unknown(answer: &OperationAnswer) {
    assert_eq!((answer.status, &answer.body["reason"]), (502, &json!("OutcomeUnknown")), "{answer:?}");
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.starts_with("outcome unknown: "), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_performed_once_and_counted() {
    let setup = FaultSetup::set().await;
    let created = setup.ask("", &FaultSetup::create()).await;
    assert_eq!((created.status, &created.body["action"]), (201, &json!("created")), "{created:?}");
    assert_eq!(setup.effects(), 1);
    let metrics = setup.stack.hub.text("/metrics").await.unwrap();
    let line = r#"spindrift_hub_operations_total{verb="create",outcome="completed"} 1"#;
    assert!(
        metrics.contains(line)
            && metrics.contains(r#"kubesvc_ops_processTime_seconds_count{result="completed"} 1"#),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_before_it_was_asked_changes_nothing() {
    let mut setup = FaultSetup::set().await;
    setup.stack.agent.kill();
    setup.stack.hub.configure("/kubesvc/operations/retry", json!({ "maxRetries": 2, "backoffMs": 100 }));
    setup.stack.hub.restart().await.unwrap();
    let refused = setup.ask("", &FaultSetup::create()).await;
    assert_eq!((refused.status, &refused.body["reason"]), (503, &json!("ServiceUnavailable")), "{refused:?}");
    let message =
        format!("no agent that serves account {} is connected; agent agent-a was the last", setup.account);
    assert_eq!(refused.body["message"], message);
    assert_eq!(setup.effects(), 0);
    assert_eq!(remembered(&setup.stack.hub, &refused.id).await["state"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_comes_in_time_is_waited_for() {
    let mut setup = FaultSetup::set().await;
    setup.stack.agent.kill();
    let started = setup.ask("async=true", &FaultSetup::create()).await;
    assert_eq!(started.status, 202, "{started:?}");
    setup.stack.agent.restart().unwrap();
    setup.becomes(&started.id, "completed").await;
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_posted_twice_at_once_has_one_effect_and_both_hear_of_it() {
    let setup = FaultSetup::set().await;
    for round in 1..=5 {
        let query = format!("id={}", OperationId::fresh());
        let create = FaultSetup::create();
        let posts = (0..4).map(|_| setup.ask(&query, &create));
        let answers = futures::future::join_all(posts).await;
        for answer in &answers {
            assert_eq!((answer.status, &answer.body), (201, &answers[0].body), "{answer:?}");
        }
        assert_eq!(setup.effects(), round, "one for each id");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_exceeded_while_the_api_server_is_silent_is_reported() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let asked = setup.ask("deadline=1s", &FaultSetup::create()).await;
    assert_unknown(&asked);
    setup.faults.lift(fault);
    let operation = remembered(&setup.stack.hub, &asked.id).await;
    assert_eq!(operation["state"], "unknown", "{operation}");
    assert!(!operation["reason"].as_str().unwrap().is_empty());
    assert!(setup.effects() <= 1);
    let metrics = setup.stack.hub.text("/metrics").await.unwrap();
    let line = r#"spindrift_hub_operations_total{verb="create",outcome="unknown"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_stops_waiting_gets_the_id_and_reads_the_answer_later() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let asked = setup.ask("wait=200ms", &FaultSetup::create()).await;
    assert_eq!((asked.status, &asked.body["id"]), (202, &json!(asked.id)), "{asked:?}");
    setup.held(fault).await;
    setup.faults.lift(fault);
    setup.becomes(&asked.id, "completed").await;
    let result = setup.stack.hub.get(&format!("/v1/operations/{}/result", asked.id)).await.unwrap();
    assert_eq!(result["action"], "created");
    assert_eq!(setup.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_cancelled_before_it_began_changes_nothing() {
    let mut setup = FaultSetup::set().await;
    setup.stack.agent.kill();
    let started = setup.ask("async=true", &FaultSetup::create()).await;
    let url = format!("{}/v1/operations/{}", setup.stack.hub.url(), started.id);
    assert_eq!(reqwest::Client::new().delete(&url).send().await.unwrap().status(), 202);
    setup.becomes(&started.id, "cancelled").await;
    setup.stack.agent.restart().unwrap();
    setup.connected().await;
    let again = setup.ask(&format!("id={}", started.id), &FaultSetup::create()).await;
    assert_eq!((again.status, &again.body["reason"]), (409, &json!("Cancelled")), "{again:?}");
    assert_eq!(setup.effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_not_the_accounts_is_refused() {
    let stage = Stage::set(1).await;
    let mut accounts = stage.accounts();
    accounts[0]["namespaces"] = json!(["shop"]);
    let stack = Stack::with_settings(&["Secret"], json!(accounts), &[]).await;
    let account = stage.fleet.clusters[0].name();
    stack.synced(account).await;
    let refused = ask(&stack.hub, account, "", &FaultSetup::create()).await;
    assert_eq!((refused.status, &refused.body["reason"]), (401, &json!("Unauthorized")), "{refused:?}");
    let message =
        format!("namespace default has not been authorized in the configuration of account {account}");
    assert_eq!(refused.body["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_does_not_stop_what_it_asked_for() {
    let setup = FaultSetup::set().await;
    let fault = setup.hold();
    let id = OperationId::fresh().to_string();
    let query = format!("id={id}");
    let create = FaultSetup::create();
    let left = tokio::time::timeout(Duration::from_secs(1), async {
        try_ask(&setup.stack.hub, &setup.account, &query, &create).await
    });
    assert!(left.await.is_err());
    setup.held(fault).await;
    setup.faults.lift(fault);
    setup.becomes(&id, "completed").await;
    assert_eq!(setup.effects(), 1);
    let again = setup.ask(&query, &create).await;
    assert_eq!((again.status, &again.body["action"]), (201, &json!("created")), "{again:?}");
    assert_eq!(setup.effects(), 1);
}
