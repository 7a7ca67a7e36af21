//! Two hubs share a database; the agent is connected to one of them, and the other is asked.

use serde_json::{Value, json};
use spindrift_model::OperationId;
use spindrift_playground::{Effect, Fault, Faults, Verb};
use spindrift_testkit::{AgentProcess, Database, HubProcess, eventually};

use super::{ask, remembered};
use crate::{engine::Stage, support::LONG};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

struct TwoHubs {
    stage: Stage,
    asked: HubProcess,
    connected: HubProcess,
    _agent: AgentProcess,
}

// === impl TwoHubs ===

impl TwoHubs {
    async fn start(database: &Database, settings: &[(&str, Value)]) -> Self {
        let stage = Stage::set(1).await;
        let asked = HubProcess::start("hub-a", database, settings).await.unwrap();
        let connected = HubProcess::start("hub-b", database, settings).await.unwrap();
        let agent = AgentProcess::start("agent-a", connected.grpc(), &json!(stage.accounts())).unwrap();
        eventually!("the account is served", LONG, {
            let accounts = asked.get("/v1/accounts").await?;
            anyhow::ensure!(accounts[0]["cachedBy"] == "agent-a", "{accounts}");
            Ok(())
        });
        Self { stage, asked, connected, _agent: agent }
    }

    fn account(&self) -> &str {
        self.stage.fleet.clusters[0].name()
    }

    fn effects(&self) -> usize {
        let all = self.stage.fleet.clusters[0].list("", "configmaps", Some("default"));
        let names = all.iter().filter_map(|object| object["metadata"]["name"].as_str());
        names.filter(|name| name.starts_with("effect-")).count()
    }
}

fn create() -> Value {
    let metadata = json!({ "generateName": "effect-", "namespace": "default" });
    json!({ "verb": "create", "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata } })
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_with_a_common_key_pass_operations_to_each_other() {
    for database in [Database::postgres().await.unwrap(), Database::mariadb().await.unwrap()] {
        let settings = [("/kubesvc/operations", json!({ "encryption": { "key": KEY } }))];
        let pair = TwoHubs::start(&database, &settings).await;
        let created = ask(&pair.asked, pair.account(), "", &create()).await;
        assert_eq!((created.status, &created.body["action"]), (201, &json!("created")), "{created:?}");
        assert_eq!(pair.effects(), 1);
        let way = pair.asked.get(&format!("/armory/agent/operations/{}", created.id)).await.unwrap();
        assert_eq!(way["opReceivedByClouddriver"]["clouddriverId"], "hub-a", "{way}");
        assert_eq!(way["opProcessedByClouddriver"]["clouddriverId"], "hub-b", "{way}");
        assert_eq!(way["resultReceivedFromAgent"]["result"]["status"], 201, "{way}");

        // An operation that is cancelled at one hub is cancelled at the other.
        let faults = Faults::before(&pair.stage.fleet.clusters[0]);
        let fault = faults.inject(Fault::new(Effect::Freeze).of_verbs([Verb::Get]).of_resource("configmaps"));
        let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "x" });
        let id = OperationId::fresh().to_string();
        let query = format!("id={id}&async=true");
        ask(&pair.asked, pair.account(), &query, &json!({ "verb": "get", "target": target })).await;
        eventually!("the API server is asked", LONG, faults.hits(fault) == Some(1));
        let url = format!("{}/v1/operations/{id}", pair.asked.url());
        reqwest::Client::new().delete(url).send().await.unwrap();
        eventually!("it is called off", LONG, remembered(&pair.connected, &id).await["state"] == "cancelled");
        faults.lift(fault);
        assert_eq!(pair.effects(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_without_a_common_key_say_what_is_missing() {
    let database = Database::postgres().await.unwrap();
    let pair = TwoHubs::start(&database, &[]).await;
    let refused = ask(&pair.asked, pair.account(), "", &create()).await;
    assert_eq!((refused.status, &refused.body["reason"]), (503, &json!("ServiceUnavailable")), "{refused:?}");
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("connected to hub hub-b") && message.contains("kubesvc.operations.encryption.key")
    );
    let created = ask(&pair.connected, pair.account(), "", &create()).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(pair.effects(), 1);
    assert!(pair.asked.daemon().log().contains("kubesvc.operations.encryption has no key"));
}
