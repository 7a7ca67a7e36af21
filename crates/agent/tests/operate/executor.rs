//! Operations run once, in order, and their results are sent until they are acknowledged.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_model::{ErrorKind, OperationId, Outcome};
use spindrift_protocol::ResultsDown;
use spindrift_testkit::{Cluster, eventually};

use crate::support::Bench;

fn delete(namespace: &str, name: &str) -> Value {
    json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name })
}

async fn create(cluster: &Cluster, namespace: &str, name: &str, finalizers: &[&str]) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "finalizers": finalizers },
    });
    cluster.kubectl_stdin(&["create", "-f", "-"], &object.to_string()).await.unwrap();
}

async fn release(cluster: &Cluster, namespace: &str, name: &str) {
    let release = r#"{"metadata":{"finalizers":null}}"#;
    cluster
        .kubectl(&["-n", namespace, "patch", "configmap", name, "--type=merge", "-p", release])
        .await
        .unwrap();
}

#[tokio::test]
async fn an_id_that_comes_again_is_not_done_again() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("once").await.unwrap();
    let bench = Bench::new(cluster).await;
    create(cluster, &namespace, "one", &[]).await;
    let operation = OperationId::fresh();
    let verb = delete(&namespace, "one");
    bench.submit_as(operation, &verb, Duration::from_secs(30));
    bench.submit_as(operation, &verb, Duration::from_secs(30));
    assert_eq!(bench.answer(operation).await.json()["deleted"][0]["name"], "one");

    create(cluster, &namespace, "one", &[]).await;
    bench.submit_as(operation, &verb, Duration::from_secs(30));
    let again = bench.answer(operation).await;
    assert_eq!(again.outcome, Outcome::Succeeded { code: 200 }, "its outcome is known");
    cluster.kubectl(&["-n", &namespace, "get", "configmap", "one"]).await.expect("it was left alone");
}

#[tokio::test]
async fn what_was_begun_goes_on_without_a_link_and_is_told_to_the_next_session() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("link").await.unwrap();
    let bench = Bench::new(cluster).await;
    create(cluster, &namespace, "held", &["example.com/hold"]).await;
    let operation = bench.submit(&delete(&namespace, "held"));
    eventually!("it is begun", {
        let args =
            ["-n", &namespace, "get", "configmap", "held", "-o", "jsonpath={.metadata.deletionTimestamp}"];
        !cluster.kubectl(&args).await.unwrap().is_empty()
    });
    bench.executor.results().end_session();
    release(cluster, &namespace, "held").await;
    bench.executor.results().begin_session();
    let part = bench.next().await;
    assert_eq!((part.operation, part.offset), (operation, 0));
    assert!(part.ending.is_some());
    // Lost on the way: sent again.
    bench.executor.results().end_session();
    bench.executor.results().begin_session();
    assert_eq!(bench.answer(operation).await.json()["deleted"][0]["name"], "held");
}

#[tokio::test]
async fn a_result_that_nobody_confirms_is_sent_again_as_often_as_configured() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("resend").await.unwrap();
    let retries = json!({ "clouddriver": { "responseRetries": { "maxRetries": 2, "backOffMs": 50 } } });
    let bench = Bench::with(cluster.kubeconfig(), json!({}), retries).await;
    create(cluster, &namespace, "one", &[]).await;
    let operation = bench.submit(&delete(&namespace, "one"));
    for _ in 0..3 {
        let part = bench.next().await;
        assert_eq!((part.operation, part.offset, part.ending.is_some()), (operation, 0, true));
    }
    let silence = tokio::time::timeout(Duration::from_millis(500), bench.executor.results().next()).await;
    assert!(silence.is_err(), "three times are enough");
    bench.submit_as(operation, &delete(&namespace, "one"), Duration::from_secs(30));
    assert_eq!(bench.answer(operation).await.outcome, Outcome::Succeeded { code: 200 }, "still known");
}

#[tokio::test]
async fn mutations_of_one_object_go_in_order_and_others_do_not_wait_for_them() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("order").await.unwrap();
    let bench = Bench::new(cluster).await;
    create(cluster, &namespace, "held", &["example.com/hold"]).await;
    create(cluster, &namespace, "free", &[]).await;
    let first = bench.submit(&delete(&namespace, "held"));
    let second = bench.submit(&delete(&namespace, "held"));
    let third = bench.submit(&delete(&namespace, "held"));
    let other = bench.submit(&delete(&namespace, "free"));
    assert_eq!(bench.answer(other).await.json()["deleted"][0]["name"], "free", "while the first still waits");
    bench.executor.cancel(second);
    assert_eq!(bench.answer(second).await.error().kind, ErrorKind::Cancelled, "it was never begun");
    release(cluster, &namespace, "held").await;
    let [first, third] = &bench.answers(&[first, third]).await[..] else { panic!("two") };
    assert_eq!(first.json()["deleted"][0]["name"], "held");
    assert_eq!(third.refused().0, 404, "after the first");
}

#[tokio::test]
async fn an_operation_whose_deadline_passes_before_its_turn_is_not_begun() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("late").await.unwrap();
    let bench = Bench::new(cluster).await;
    create(cluster, &namespace, "held", &["example.com/hold"]).await;
    let first = bench.submit(&delete(&namespace, "held"));
    let late = OperationId::fresh();
    bench.submit_as(late, &delete(&namespace, "held"), Duration::from_millis(300));
    assert_eq!(bench.answer(late).await.error().kind, ErrorKind::DeadlineExceeded);
    release(cluster, &namespace, "held").await;
    bench.answer(first).await.json();
}

#[tokio::test]
async fn what_a_lost_session_wanted_to_read_is_cut_off() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("cut").await.unwrap();
    let bench = Bench::new(cluster).await;
    let list = json!({ "verb": "list", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace });
    let cut = bench.submit(&list);
    bench.executor.results().end_session();
    bench.executor.results().begin_session();
    let wanted = bench.submit(&list);
    let part = bench.next().await;
    assert_eq!(part.operation, wanted, "nothing of the lost one is told");
    bench.executor.results().acknowledge(ResultsDown::Done(wanted));
    // A hub that still wants it asks again, under the same id.
    bench.submit_as(cut, &list, Duration::from_secs(30));
    bench.answer(cut).await.json();
}
