//! The way there and back.

use serde_json::json;
use spindrift_model::OperationId;
use spindrift_testkit::{Cluster, Database, eventually};

use super::{OperationAnswer, ask, get, remembered};
use crate::support::{LONG, Stack, config_maps};

async fn stack(cluster: &Cluster, database: Database) -> Stack {
    let stack = Stack::start(cluster, database, &["ConfigMap"]).await;
    stack.synced("main").await;
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_of_the_hub_is_performed_by_the_agent() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("asking").await.unwrap();
    let manifest = config_maps(&namespace, "cm", 3, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
    let database = Database::postgres().await.unwrap();
    let stack = stack(cluster, database).await;
    let OperationAnswer { status, id, body } = ask(&stack.hub, "main", "", &get(&namespace, "cm-0")).await;
    assert_eq!((status, &body["data"]["value"]), (200, &json!("x")), "{body}");
    let operation = remembered(&stack.hub, &id).await;
    let expected = json!({ "account": "main", "verb": "get", "state": "completed", "code": 200, "agent": "agent-a",
        "target": format!("ConfigMap {namespace}/cm-0") });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&operation[key], value, "{key} of {operation}");
    }

    let list = json!({ "verb": "list", "kind": "ConfigMap", "namespace": namespace, "apiVersion": "v1", "labelSelector": "batch=cm" });
    let listed = ask(&stack.hub, "main", "", &list).await;
    assert_eq!((listed.status, listed.body["items"].as_array().map(Vec::len)), (200, Some(3)), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_api_server_is_passed_on_unchanged() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("refused").await.unwrap();
    let stack = stack(cluster, Database::sqlite().unwrap()).await;
    let missing = ask(&stack.hub, "main", "", &get(&namespace, "missing")).await;
    assert_eq!(missing.status, 404);
    assert_eq!(
        missing.body,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "configmaps \"missing\" not found",
            "details": { "name": "missing", "kind": "configmaps" } })
    );
    let operation = remembered(&stack.hub, &missing.id).await;
    assert_eq!((&operation["state"], &operation["status"]), (&json!("failed"), &missing.body), "{operation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_async_operation_is_read_later_and_the_database_holds_no_plaintext() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("later").await.unwrap();
    cluster.kubectl(&["create", "serviceaccount", "robot", "-n", &namespace]).await.unwrap();
    let note = ["annotate", "serviceaccount", "robot", "-n", &namespace, "note=canary-b7f3"];
    cluster.kubectl(&note).await.unwrap();
    let database = Database::sqlite().unwrap();
    let stack = stack(cluster, database).await;
    let target =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "namespace": namespace, "name": "robot" });
    let question = json!({ "verb": "get", "target": target });
    let started = ask(&stack.hub, "main", "async=true", &question).await;
    assert_eq!((started.status, &started.body["id"]), (202, &json!(started.id)), "{started:?}");
    let id = &started.id;
    eventually!("it ends", remembered(&stack.hub, id).await["state"] == "completed");
    let result = stack.hub.get(&format!("/v1/operations/{id}/result")).await.unwrap();
    assert_eq!(result["metadata"]["annotations"]["note"], "canary-b7f3");
    let dump = String::from_utf8_lossy(&stack.database.dump().await.unwrap()).into_owned();
    assert!(dump.contains(id.as_str()) && !dump.contains("canary-b7f3"), "{}", stack.database.engine());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_is_the_same_operation() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("same").await.unwrap();
    let manifest = config_maps(&namespace, "cm", 2, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
    let database = Database::mariadb().await.unwrap();
    let stack = stack(cluster, database).await;
    let query = format!("id={}", OperationId::fresh());
    let question = get(&namespace, "cm-0");
    let (one, two) =
        tokio::join!(ask(&stack.hub, "main", &query, &question), ask(&stack.hub, "main", &query, &question));
    assert_eq!((one.status, two.status), (200, 200), "{one:?} {two:?}");
    assert_eq!((&one.body, &one.id), (&two.body, &two.id));
    let other = ask(&stack.hub, "main", &query, &get(&namespace, "cm-1")).await;
    assert_eq!((other.status, &other.body["reason"]), (409, &json!("Conflict")), "{other:?}");
    assert_eq!(stack.hub.get("/v1/operations").await.unwrap().as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_request_is_refused_with_the_reason() {
    let database = Database::sqlite().unwrap();
    let hub = spindrift_testkit::HubProcess::start("hub-a", &database, &[]).await.unwrap();
    for (query, verb, says) in [
        ("", json!({ "verb": "dance" }), "body: unknown variant `dance`"),
        ("", json!({ "verb": "get" }), "body: missing field `target`"),
        ("id=1", json!({ "verb": "discover" }), "id: operation id \"1\" is not a ULID"),
        ("deadline=soon", json!({ "verb": "discover" }), "deadline: expected a length such as 30s"),
        ("wait=0s", json!({ "verb": "discover" }), "wait: expected a length such as 30s"),
    ] {
        let answer = ask(&hub, "main", query, &verb).await;
        let message = answer.body["message"].as_str().unwrap();
        assert!(answer.status == 400 && message.starts_with(says), "{says} is not in {answer:?}");
    }
    let nowhere = ask(&hub, "nowhere", "", &json!({ "verb": "discover" })).await;
    assert_eq!((nowhere.status, &nowhere.body["reason"]), (404, &json!("NotFound")), "{nowhere:?}");
    assert_eq!(nowhere.body["message"], "there is no account nowhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_changes_in_a_frozen_account_and_reads_go_on() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("frozen").await.unwrap();
    let manifest = config_maps(&namespace, "cm", 1, "x");
    cluster.kubectl_stdin(&["create", "-f", "-"], &manifest).await.unwrap();
    let stack = stack(cluster, Database::sqlite().unwrap()).await;
    let client = reqwest::Client::new();
    let url = format!("{}/v1/accounts/main/freeze", stack.hub.url());
    let put = client.put(&url).json(&json!({ "reason": "the auditors are here" }));
    assert_eq!(put.send().await.unwrap().status(), 204);
    assert_eq!(stack.account("main").await["frozen"]["reason"], "the auditors are here");

    let delete = json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "cm-0" });
    let refused = ask(&stack.hub, "main", "", &delete).await;
    assert_eq!((refused.status, &refused.body["reason"]), (423, &json!("Locked")), "{refused:?}");
    assert_eq!(refused.body["message"], "account main is frozen: the auditors are here");
    assert_eq!(ask(&stack.hub, "main", "", &get(&namespace, "cm-0")).await.status, 200);

    assert_eq!(client.delete(&url).send().await.unwrap().status(), 204);
    let deleted = ask(&stack.hub, "main", "", &delete).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    let gone = ["get", "configmap", "cm-0", "-n", &namespace];
    eventually!("it is gone", LONG, cluster.kubectl(&gone).await.is_err());
}
