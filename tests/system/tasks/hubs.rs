//! Tasks outlive the hub that took them, and are performed once whatever happens in between.

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Database, HubProcess, eventually};

use super::{SimulatedCluster, TaskSetup, ended, failed, history, send, submit};
use crate::support::LONG;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A task to deploy several objects has deployed each of them once, and reports each once.
fn assert_done_once(simulated: &SimulatedCluster, task: &Value) {
    assert_eq!(task["status"]["failed"], false, "{task:#}");
    assert_eq!(simulated.effects(), 2, "{task:#}");
    let first = simulated.objects("", "serviceaccounts");
    let names: Vec<_> = first.iter().map(|it| it["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("first-")).count(), 1, "{names:?}");
    assert!(names.contains(&"first-v000"), "{names:?}");
    let result = &task["resultObjects"][0];
    assert_eq!(result["manifestNamesByNamespace"]["default"].as_array().unwrap().len(), 3, "{task:#}");
    let lines = history(task);
    let mut submitted = lines.iter().filter(|line| line.starts_with("Submitting manifest "));
    assert_eq!(submitted.clone().count(), 3, "{lines:#?}");
    assert_eq!(
        submitted.next(),
        Some(&"Submitting manifest serviceAccount first-v000 to kubernetes master...")
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("Initializing")).count(), 1, "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_in_the_middle_of_a_deployment_goes_on_when_it_is_back() {
    let mut setup = TaskSetup::set().await;
    let fault = setup.hold();
    let id = submit(&setup.stack.hub, "deployManifest", setup.several()).await;
    setup.held(fault).await;
    setup.stack.hub.kill();
    setup.faults.lift(fault);
    eventually!("the agent has done what it was asked", LONG, setup.effects() == 1);
    setup.stack.hub.restart().await.unwrap();
    let task = ended(&setup.stack.hub, &id).await;
    assert_done_once(&setup, &task);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_killed_over_and_over_does_nothing_twice() {
    let mut setup = TaskSetup::set().await;
    let fault = setup.hold();
    let id = submit(&setup.stack.hub, "deployManifest", setup.several()).await;
    setup.held(fault).await;
    for _ in 0..3 {
        setup.stack.hub.kill();
        setup.stack.hub.restart().await.unwrap();
    }
    setup.faults.lift(fault);
    let task = ended(&setup.stack.hub, &id).await;
    assert_done_once(&setup, &task);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_posted_many_times_at_once_is_one_task() {
    let setup = TaskSetup::set().await;
    let body = json!([{ "deployManifest": setup.several() }]);
    let posts = (0..8).map(|_| send(&setup.stack.hub, "POST", "/kubernetes/ops?clientRequestId=same", &body));
    let ids: Vec<_> =
        futures::future::join_all(posts).await.into_iter().map(|it| it.body["id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()), "{ids:?}");
    let task = ended(&setup.stack.hub, ids[0].as_str().unwrap()).await;
    assert_done_once(&setup, &task);
    let later = send(&setup.stack.hub, "POST", "/kubernetes/ops?clientRequestId=same", &body).await;
    assert_eq!(later.body["id"], ids[0], "it has ended, and is not done again");
    assert_eq!(setup.effects(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_away_fails_the_task_and_is_named() {
    let mut setup = TaskSetup::set().await;
    setup.stack.agent.kill();
    setup.stack.hub.configure("/kubesvc/operations/retry", json!({ "maxRetries": 2, "backoffMs": 100 }));
    setup.stack.hub.restart().await.unwrap();
    let account = setup.account.clone();
    let away =
        format!("error: no agent that serves account {account} is connected; agent agent-a was the last\n");
    let message = failed(&setup.stack.hub, "deployManifest", setup.several()).await;
    assert_eq!(message, format!("Failed to read [serviceAccount] from default: {away}"));
    let scale =
        json!({ "account": account, "manifestName": "deployment web", "location": "default", "replicas": 1 });
    let message = failed(&setup.stack.hub, "scaleManifest", scale).await;
    assert_eq!(message, format!("Failed to scale deployment/web from default: {away}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_cannot_be_decrypted_fails_with_the_reason() {
    let database = Database::postgres().await.unwrap();
    let mut pair = TaskHubs::start(&database, &[]).await;
    let fault = pair.simulated.hold();
    let id = submit(&pair.connected, "deployManifest", pair.simulated.several()).await;
    pair.simulated.held(fault).await;
    // Without a key of the operator's, its own ends with the process.
    pair.connected.kill();
    pair.connected.restart().await.unwrap();
    let task = ended(&pair.connected, &id).await;
    pair.simulated.faults.lift(fault);
    let message = task["resultObjects"][0]["message"].as_str().unwrap();
    assert!(
        task["status"]["failed"] == true && message.contains("no other has the key that encrypts it"),
        "{task:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_share_their_tasks_and_one_finishes_what_another_left() {
    let databases =
        [(Database::postgres().await.unwrap(), true), (Database::mariadb().await.unwrap(), false)];
    for (database, is_killed) in databases {
        let settings = [("/kubesvc/operations", json!({ "encryption": { "key": KEY } }))];
        let mut pair = TaskHubs::start(&database, &settings).await;
        let fault = pair.simulated.hold();
        let body = json!([{ "deployManifest": pair.simulated.several() }]);
        let path = "/kubernetes/ops?clientRequestId=both";
        let (one, two) =
            tokio::join!(send(&pair.asked, "POST", path, &body), send(&pair.asked, "POST", path, &body));
        let id = one.body["id"].as_str().unwrap().to_owned();
        assert_eq!((two.status, &two.body["id"]), (200, &json!(id)));
        let other = send(&pair.connected, "POST", path, &body).await;
        assert_eq!((other.status, &other.body["id"]), (200, &json!(id)), "whichever hub is asked");
        pair.simulated.held(fault).await;
        let running = pair.connected.get("/task").await.unwrap();
        assert_eq!(running[0]["id"], *id, "{running}");
        let owner = pair.connected.get(&format!("/kubernetes/task/{id}/owner")).await.unwrap();
        assert_eq!(owner, json!({ "name": "hub-a" }));

        if is_killed {
            pair.asked.kill();
        } else {
            pair.asked.daemon().terminate().unwrap();
        }
        pair.simulated.faults.lift(fault);
        eventually!("the other hub takes it over", 2 * LONG, {
            let task = pair.connected.get(&format!("/task/{id}")).await?;
            anyhow::ensure!(task["status"]["completed"] == true, "{task}");
            Ok(())
        });
        let task = ended(&pair.connected, &id).await;
        assert_done_once(&pair.simulated, &task);
        let owner = pair.connected.get(&format!("/kubernetes/task/{id}/owner")).await.unwrap();
        assert_eq!(owner, json!({ "name": "hub-b" }));
    }
}

/// Two hubs that share a database; the agent is connected to the second.
struct TaskHubs {
    simulated: SimulatedCluster,
    asked: HubProcess,
    connected: HubProcess,
    _agent: AgentProcess,
}

// === impl TaskHubs ===

impl TaskHubs {
    async fn start(database: &Database, settings: &[(&str, Value)]) -> Self {
        let simulated = SimulatedCluster::set().await;
        let asked = HubProcess::start("hub-a", database, settings).await.unwrap();
        let connected = HubProcess::start("hub-b", database, settings).await.unwrap();
        let agent =
            AgentProcess::start("agent-a", connected.grpc(), &json!(simulated.stage.accounts())).unwrap();
        eventually!("the account is served", LONG, {
            let accounts = asked.get("/v1/accounts").await?;
            anyhow::ensure!(accounts[0]["cachedBy"] == "agent-a", "{accounts}");
            Ok(())
        });
        Self { simulated, asked, connected, _agent: agent }
    }
}
