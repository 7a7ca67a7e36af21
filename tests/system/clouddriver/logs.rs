//! Logs of containers and jobs.

use serde_json::json;
use spindrift_testkit::{Cluster, ClusterBuilder, ContainerLog, Database, eventually};

use super::get;
use crate::support::{LONG, Stack};

const LOG: &str = "hello from the container\nSPINNAKER_PROPERTY_BUILD_ID=42\nSPINNAKER_CONFIG_JSON={\"nested\":{\"n\":1}}\nlast line\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_reports_its_status_and_log() {
    let logs = [ContainerLog::of_every(LOG), ContainerLog::of("prepare", "prepared\n")];
    let cluster = logs.into_iter().fold(Cluster::builder().controllers(), ClusterBuilder::log);
    let cluster = &cluster.start().await.unwrap();
    let namespace = cluster.namespace("jobs").await.unwrap();
    let container = |name: &str| json!([{ "name": name, "image": "shop:1" }]);
    let template = json!({ "spec": { "restartPolicy": "Never", "initContainers": container("prepare"), "containers": container("main") } });
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "migrate", "namespace": namespace },
        "spec": { "template": template } });
    cluster.kubectl_stdin(&["create", "-f", "-"], &job.to_string()).await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["Pod"]).await;
    stack.synced("main").await;

    let base = format!("/applications/shop/jobs/main/{namespace}/job%20migrate");
    let job = eventually("the job has a pod", LONG, || async {
        let job = get(&stack.hub, &base).await.json();
        let is_there = job["pods"].as_array().is_some_and(|pods| !pods.is_empty());
        is_there.then_some(job.clone()).ok_or(job)
    })
    .await;
    assert_eq!((&job["name"], &job["provider"]), (&json!("migrate"), &json!("kubernetes")), "{job}");
    let pod = job["pods"][0]["name"].as_str().unwrap();
    assert_eq!(job["mostRecentPodName"], pod);

    let console = format!("/instances/main/{namespace}/pod%20{pod}/console?provider=kubernetes");
    let outputs = json!([{ "name": "prepare", "output": "prepared\n" }, { "name": "main", "output": LOG }]);
    eventually("both logs are there", LONG, || async {
        let console = get(&stack.hub, &console).await.json();
        (console["output"] == outputs).then_some(()).ok_or(console)
    })
    .await;
    let others = get(&stack.hub, &console.replace("provider=kubernetes", "provider=aws")).await;
    assert_eq!(others.json()["output"], outputs, "Gate says so of all that it does not know better");
    let gone = get(&stack.hub, &format!("/instances/main/{namespace}/pod%20nope/console")).await;
    assert_eq!((gone.status, &gone.json()["output"][0]["name"]), (200, &json!("Error")));

    let printed = json!({ "build_id": "42", "nested": { "n": 1 } });
    let pods = format!("/applications/shop/kubernetes/pods/main/{namespace}");
    let table = [
        (format!("{base}/main"), printed.clone()),
        (format!("{pods}/{pod}/main"), printed),
        (format!("{base}/nope"), json!({})),
        (format!("{base}x/main"), json!({})),
        (format!("{pods}/nope/main"), json!({})),
    ];
    for (path, expected) in table {
        let file = get(&stack.hub, &path).await;
        assert_eq!((file.status, file.json()), (200, expected), "{path}");
    }
    let missing = get(&stack.hub, &format!("{base}x")).await;
    let message = format!("Job not found (account: main, location: {namespace}, id: job migratex)");
    assert_eq!((missing.status, &missing.json()["message"]), (404, &json!(message)));

    stack.hub.configure("/kubernetes", json!({ "jobs": { "detailed-pod-status": false } }));
    stack.hub.restart().await.unwrap();
    stack.synced("main").await;
    let brief = get(&stack.hub, &base).await.json();
    assert_eq!((&brief["pods"], &brief["mostRecentPodName"]), (&json!([]), &json!(pod)), "{brief}");
}
