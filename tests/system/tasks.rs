//! Spinnaker's tasks: performed step by step, with a history line for each, and independent of the hub that took them.

mod deploying;
mod editing;
mod everywhere;
mod hubs;
mod outage;
mod refusals;
mod routes;
mod settings;
mod workloads;

use std::{ops::Deref, sync::Arc};

use serde_json::{Value, json};
use spindrift_playground::{Effect, Fault, FaultId, Faults, Verb};
use spindrift_testkit::{HubProcess, eventually};

use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// A simulated cluster, whose controllers are at work and which misbehaves on demand.
struct SimulatedCluster {
    stage: Stage,
    faults: Arc<Faults>,
    account: String,
}

/// An agent and a hub before it.
struct TaskSetup {
    simulated: SimulatedCluster,
    stack: Stack,
}

/// TaskAnswer of the hub.
#[derive(Debug)]
struct TaskAnswer {
    status: u16,
    body: Value,
}

// === impl TaskSetup ===

impl TaskSetup {
    async fn set() -> Self {
        Self::with(&json!({})).await
    }

    /// The same with further settings of the account.
    async fn with(settings: &Value) -> Self {
        let simulated = SimulatedCluster::set().await;
        let mut accounts = simulated.stage.accounts();
        accounts[0].as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let stack = Stack::with_settings(&["Secret"], json!(accounts), &[]).await;
        stack.synced(&simulated.account).await;
        Self { simulated, stack }
    }
}

impl Deref for TaskSetup {
    type Target = SimulatedCluster;
    fn deref(&self) -> &SimulatedCluster {
        &self.simulated
    }
}

// === impl SimulatedCluster ===

impl SimulatedCluster {
    async fn set() -> Self {
        let stage = Stage::set(1).await;
        let faults = Faults::before(&stage.fleet.clusters[0]);
        let account = stage.fleet.clusters[0].name().to_owned();
        Self { stage, faults, account }
    }

    /// All objects of a resource in the default namespace.
    fn objects(&self, group: &str, plural: &str) -> Vec<Value> {
        let objects = self.stage.fleet.clusters[0].list(group, plural, Some("default"));
        objects.iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// One of them.
    fn object(&self, group: &str, plural: &str, name: &str) -> Value {
        let found = self.objects(group, plural).into_iter().find(|object| object["metadata"]["name"] == name);
        found.unwrap_or(Value::Null)
    }

    /// Three objects, the first of which has a version; the others are created again each time.
    fn several(&self) -> Value {
        let annotations = |versioned: &str| json!({ "strategy.spinnaker.io/versioned": versioned });
        let first = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": "first", "namespace": "default", "annotations": annotations("true") } });
        let effect = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "effect-", "namespace": "default", "annotations": annotations("false") } });
        deployment(&self.account, json!([effect, first, effect]))
    }

    fn effects(&self) -> usize {
        let names = self.objects("", "configmaps");
        names.iter().filter(|it| it["metadata"]["name"].as_str().unwrap().starts_with("effect-")).count()
    }

    /// The API server takes the ConfigMap that is to be created, and does not get around to it.
    fn hold(&self) -> FaultId {
        self.faults.inject(Fault::new(Effect::Freeze).of_verbs([Verb::Create]).of_resource("configmaps"))
    }

    async fn held(&self, fault: FaultId) {
        eventually!("the API server is asked", LONG, self.faults.hits(fault) == Some(1));
    }
}

/// Sends a request as Orca does.
async fn send(hub: &HubProcess, method: &str, path: &str, body: &Value) -> TaskAnswer {
    send_as(hub, method, path, &[("X-SPINNAKER-USER", "recorder")], body.to_string().into()).await
}

async fn send_as(
    hub: &HubProcess,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: reqwest::Body,
) -> TaskAnswer {
    let method = method.parse().unwrap();
    let request = reqwest::Client::new().request(method, format!("{}{path}", hub.url()));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let response = request.header("content-type", "application/json").body(body).send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    TaskAnswer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

/// Asks for one operation; the id of its task.
async fn submit(hub: &HubProcess, operation: &str, description: Value) -> String {
    let answer = send(hub, "POST", "/kubernetes/ops", &json!([{ operation: description }])).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = answer.body["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.body, json!({ "id": id, "resourceUri": format!("/task/{id}") }));
    id
}

/// A task that has ended.
async fn ended(hub: &HubProcess, id: &str) -> Value {
    let path = format!("/task/{id}");
    eventually!(format!("task {id} ends"), LONG, {
        match hub.get(&path).await {
            Ok(task) if task["status"]["completed"] == true => Ok(task),
            other => Err(anyhow::anyhow!("{other:?}")),
        }
    })
}

/// Asks for one operation, which has to succeed.
async fn done(hub: &HubProcess, operation: &str, description: Value) -> Value {
    let task = ended(hub, &submit(hub, operation, description).await).await;
    assert_eq!(task["status"]["failed"], false, "{task:#}");
    assert_eq!(task["status"]["status"], "Orchestration completed.", "{task:#}");
    task
}

/// Submits one operation, which has to fail; returns its error.
async fn failed(hub: &HubProcess, operation: &str, description: Value) -> String {
    let task = ended(hub, &submit(hub, operation, description).await).await;
    let status = &task["status"];
    assert_eq!((&status["failed"], &status["retryable"]), (&json!(true), &json!(false)), "{task:#}");
    let result = &task["resultObjects"][0];
    let message = result["message"].as_str().unwrap().to_owned();
    assert_eq!(
        (&result["type"], &result["cause"], &result["details"]),
        (&json!("EXCEPTION"), &result["message"], &json!([{ "message": message }])),
    );
    let last = format!("Orchestration failed: {} | ", result["operation"].as_str().unwrap());
    let text = status["status"].as_str().unwrap();
    assert!(text.starts_with(&last) && text.ends_with(&format!(": [{message}]")), "{text}");
    message
}

/// History lines of a task.
fn history(task: &Value) -> Vec<&str> {
    task["history"].as_array().unwrap().iter().map(|line| line["status"].as_str().unwrap()).collect()
}

/// A description of a deployment.
fn deployment(account: &str, manifests: Value) -> Value {
    json!({ "account": account, "moniker": { "app": "shop" }, "manifests": manifests, "cloudProvider": "kubernetes" })
}

fn config_map(namespace: &str, name: &str, value: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": namespace });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "value": value } })
}
