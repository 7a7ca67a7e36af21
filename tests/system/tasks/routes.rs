//! Routes of tasks: a delete that hangs is shown, given up, and submitted again.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, eventually};

use super::{TaskAnswer, ended, history, send};
use crate::support::{LONG, Stack};

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_hangs_is_given_up_and_asked_for_again() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("hanging").await.unwrap();
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "namespace": namespace,
        "finalizers": ["example.com/hold"] } });
    cluster.kubectl_stdin(&["create", "-f", "-"], &held.to_string()).await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["Secret"]).await;
    stack.synced("main").await;
    let hub = &stack.hub;
    let delete =
        json!({ "account": "main", "manifestName": "configMap held", "location": namespace, "options": {} });
    let body = json!([{ "deleteManifest": delete }]);
    let path = "/kubernetes/ops?clientRequestId=hang";
    let id = |answer: &TaskAnswer| answer.body["id"].as_str().unwrap_or_default().to_owned();
    let task = id(&send(hub, "POST", path, &body).await);
    let calling = format!(
        "Calling delete operation for resourceKubernetesCoordinates(kind=configMap, namespace={namespace}, name=held)..."
    );
    eventually!("it hangs", LONG, {
        let running = hub.get("/task").await?;
        anyhow::ensure!(running[0]["status"]["status"] == *calling, "{running}");
        anyhow::ensure!(running[0]["id"] == *task && running[0]["status"]["completed"] == false, "{running}");
        Ok(())
    });
    assert_eq!(id(&send(hub, "POST", path, &body).await), task, "the same is not done again");
    let owner = hub.get(&format!("/kubernetes/task/{task}/owner")).await.unwrap();
    assert_eq!(owner, json!({ "name": "hub-a" }));

    let restart = format!("/kubernetes/task/{task}/restart");
    let refused = send(hub, "POST", &restart, &body).await;
    let message = format!("Task id: {task} is not retryable");
    assert_eq!((refused.status, &refused.body["message"]), (500, &json!(message)), "{refused:?}");
    let resume = send(hub, "POST", &format!("/task/{task}:resume"), &Value::Null).await;
    assert_eq!(resume.status, 500, "{resume:?}");
    let of_task = format!("/kubernetes/task/{task}");
    let refused = send(hub, "PATCH", &of_task, &json!({})).await;
    let message = format!("Patching task id: {task} with the provided inputs is not supported");
    assert_eq!((refused.status, &refused.body["message"]), (500, &json!(message)), "{refused:?}");

    let given_up = send(hub, "PATCH", &of_task, &json!({ "retry": true })).await;
    assert_eq!((given_up.status, id(&given_up)), (200, task.clone()));
    let shown = hub.get(&format!("/task/{task}")).await.unwrap();
    let status = json!({ "phase": "DELETE_KUBERNETES_MANIFEST", "status": calling, "completed": true,
        "retryable": true, "complete": true, "failed": true });
    assert_eq!((&shown["status"], &shown["retryable"]), (&status, &json!(true)), "{shown:#}");
    assert_eq!(hub.get("/task").await.unwrap(), json!([]));
    let again = send(hub, "PATCH", &of_task, &json!({ "retry": true })).await;
    let message = "Task is already completed! No further updates allowed!";
    assert_eq!((again.status, &again.body["message"]), (500, &json!(message)), "{again:?}");
    let resume = send(hub, "POST", &format!("/task/{task}:resume"), &Value::Null).await;
    assert_eq!(resume.status, 500, "as Clouddriver, whose 500 Orca bears: {resume:?}");

    let restarted = send(hub, "POST", &restart, &body).await;
    let other = id(&restarted);
    assert!(restarted.status == 200 && other != task, "{restarted:?}");
    assert_eq!(id(&send(hub, "POST", path, &body).await), task, "under its own id it is tried again");
    let release = [
        "patch",
        "configmap",
        "held",
        "-n",
        &namespace,
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ];
    cluster.kubectl(&release).await.unwrap();
    for id in [&task, &other] {
        let task = ended(hub, id).await;
        assert_eq!(task["status"]["failed"], false, "{task:#}");
    }
    let lines = ended(hub, &task).await;
    let lines = history(&lines);
    let again = "Re-initializing Orchestration Task (failure is retryable)";
    assert_eq!(lines.iter().filter(|line| **line == again).count(), 1, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| **line == calling).count(), 2, "{lines:#?}");

    for (method, path) in [
        ("GET", "/task/nope".to_owned()),
        ("POST", "/task/nope:resume".to_owned()),
        ("GET", "/kubernetes/task/nope/owner".to_owned()),
        ("PATCH", "/kubernetes/task/nope".to_owned()),
        ("PATCH", format!("/aws/task/{task}")),
    ] {
        let answer = send(hub, method, &path, &json!({ "retry": true })).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(answer.status == 404 && message.starts_with("Task not found (id: "), "{path}: {answer:?}");
    }
}
