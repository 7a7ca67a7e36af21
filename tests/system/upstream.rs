//! In front of a Clouddriver: requests for other accounts pass through unchanged, and lists are merged.

mod edges;
mod hubs;
mod lists;
mod operations;
mod passing;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use spindrift_testkit::{Database, FaultProxy, HubProcess};
use spindrift_tests::spinnaker::RecordedClouddriver;

use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// A hub with one account of its own, in front of a recorded Clouddriver with the accounts `account1` and `wide`.
struct UpstreamSetup {
    stage: Stage,
    clouddriver: RecordedClouddriver,
    /// Between both.
    link: FaultProxy,
    stack: Stack,
}

/// An answer.
#[derive(Debug)]
struct HubAnswer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

// === impl UpstreamSetup ===

impl UpstreamSetup {
    async fn set() -> Self {
        Self::with(json!({})).await
    }

    /// With further settings of `upstream`.
    async fn with(settings: Value) -> Self {
        Self::on(Database::sqlite().unwrap(), settings).await
    }

    /// With a database of the test's choice.
    async fn on(database: Database, settings: Value) -> Self {
        let stage = Stage::set(1).await;
        let clouddriver = RecordedClouddriver::start().await.unwrap();
        let link = FaultProxy::start(clouddriver.addr()).await.unwrap();
        let kinds = ["Deployment", "Namespace", "ReplicaSet"];
        let mut stack = Stack::with_accounts(database, &kinds, json!(stage.accounts())).await;
        stack.hub.configure("/upstream", settings);
        stack.hub.configure("/upstream/url", json!(format!("http://{}", link.addr())));
        stack.hub.restart().await.unwrap();
        let setup = Self { stage, clouddriver, link, stack };
        setup.stack.synced(setup.account()).await;
        setup
    }

    /// The account that is ours.
    fn account(&self) -> &str {
        self.stage.fleet.clusters[0].name()
    }

    async fn get(&self, path: &str) -> HubAnswer {
        ask(&self.stack.hub, "GET", path, &[], None).await
    }

    /// A replica set of an application of ours.
    fn server_group(&self, name: &str) {
        let template = json!({ "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": "main", "image": "nginx" }] } });
        let body = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "replicas": 0, "selector": { "matchLabels": { "app": name } }, "template": template } });
        self.stage.fleet.clusters[0].create(body).unwrap();
    }
}

async fn ask(
    hub: &HubProcess,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> HubAnswer {
    let url = format!("{}{path}", hub.url());
    let mut request = reqwest::Client::new().request(method.parse().unwrap(), url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let response = request.timeout(LONG).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    HubAnswer { status, headers, text: response.text().await.unwrap() }
}

// === impl HubAnswer ===

impl HubAnswer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Whether the answer is marked: the Clouddriver's part is missing, or old.
    fn is_stale(&self) -> bool {
        self.names_stale("upstream")
    }

    /// Whether the answer is marked: an account is missing, or old.
    fn names_stale(&self, account: &str) -> bool {
        self.header("x-spindrift-stale").is_some_and(|names| names.split(',').any(|name| name == account))
    }

    /// Value of a key in each entry.
    fn each(&self, key: &str) -> Vec<String> {
        let entries = self.json();
        let mut all: Vec<_> =
            entries.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Its keys.
    fn keys(&self) -> Vec<String> {
        self.json().as_object().unwrap().keys().cloned().collect()
    }
}
