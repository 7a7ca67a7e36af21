//! An agent performs an operation at most once, and the caller receives an outcome, whatever happens.

mod faults;
mod hubs;
mod requests;

use serde_json::{Value, json};
use spindrift_testkit::HubProcess;

/// OperationAnswer of the hub.
#[derive(Debug)]
pub(crate) struct OperationAnswer {
    pub(crate) status: u16,
    pub(crate) id: String,
    pub(crate) body: Value,
}

/// Asks, and waits for the answer.
pub(crate) async fn ask(hub: &HubProcess, account: &str, query: &str, verb: &Value) -> OperationAnswer {
    try_ask(hub, account, query, verb).await.unwrap()
}

/// The same, where the hub may die meanwhile.
pub(crate) async fn try_ask(
    hub: &HubProcess,
    account: &str,
    query: &str,
    verb: &Value,
) -> reqwest::Result<OperationAnswer> {
    let url = format!("{}/v1/accounts/{account}/operations?{query}", hub.url());
    let response = reqwest::Client::new().post(url).json(verb).send().await?;
    let status = response.status().as_u16();
    let id = response.headers().get("spindrift-operation").map(|id| id.to_str().unwrap().to_owned());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(OperationAnswer { status, id: id.unwrap_or_default(), body })
}

/// An operation as the hub remembers it.
pub(crate) async fn remembered(hub: &HubProcess, id: &str) -> Value {
    hub.get(&format!("/v1/operations/{id}")).await.unwrap()
}

fn get(namespace: &str, name: &str) -> Value {
    json!({ "verb": "get", "target": config_map(namespace, name) })
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name })
}
