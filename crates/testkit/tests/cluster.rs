//! The clusters are real: objects last, pods run, history can be lost.

use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{PostParams, WatchEvent, WatchParams};
use serde_json::json;
use spindrift_testkit::{Cluster, ContainerLog, FaultProxy, Kubectl, MetricsApi, eventually};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example/web}]}
";

#[tokio::test]
async fn object_made_by_kubectl_is_seen_by_the_client() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("kubectl").await?;
    cluster.kubectl(&["create", "configmap", "x", "--from-literal=a=b", "-n", &namespace]).await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);
    let data = config_maps.get("x").await?.data.context("data")?;
    assert_eq!(data.get("a").map(String::as_str), Some("b"));
    Ok(())
}

#[tokio::test]
async fn kubectl_error_contains_its_stderr() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let error = cluster.kubectl(&["get", "node", "nowhere"]).await.expect_err("there is no such node");
    assert!(error.to_string().contains("\"nowhere\" not found"), "{error}");
    Ok(())
}

#[tokio::test]
async fn limited_user_may_only_what_is_granted() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("limited").await?;
    let kubeconfig = cluster.kubeconfig_for("limited")?;
    let get = ["get", "configmaps", "-n", &namespace, "--kubeconfig", kubeconfig.to_str().context("path")?];
    let error = cluster.kubectl(&get).await.expect_err("nothing is granted yet");
    assert!(error.to_string().contains("User \"limited\" cannot list"), "{error}");
    let role = ["create", "role", "reader", "--verb=list", "--resource=configmaps", "-n", &namespace];
    cluster.kubectl(&role).await?;
    let grant = ["create", "rolebinding", "reader", "--role=reader", "--user=limited", "-n", &namespace];
    cluster.kubectl(&grant).await?;
    eventually!("the grant works", cluster.kubectl(&get).await);
    Ok(())
}

#[tokio::test]
async fn restart_keeps_objects_and_clients() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let client = cluster.client();
    let config_maps: Api<ConfigMap> = Api::namespaced(client, "default");
    config_maps.create(&PostParams::default(), &config_map("kept")).await?;
    cluster.stop_api_server();
    assert!(config_maps.get("kept").await.is_err(), "a stopped API server answered");
    cluster.start_api_server().await?;
    eventually!("the old client works again", config_maps.get("kept").await);
    Ok(())
}

#[tokio::test]
async fn frozen_api_server_answers_after_thaw() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let client = cluster.client();
    cluster.freeze_api_server()?;
    let version = client.apiserver_version();
    tokio::pin!(version);
    let while_frozen = tokio::time::timeout(Duration::from_millis(300), &mut version).await;
    assert!(while_frozen.is_err(), "a frozen API server answered");
    cluster.thaw_api_server()?;
    assert_eq!(version.await?.git_version, "v1.36.3");
    Ok(())
}

#[tokio::test]
async fn old_watch_is_expired_after_compaction_and_restart() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let first = config_maps.create(&PostParams::default(), &config_map("first")).await?;
    let old_version = first.metadata.resource_version.context("resource version")?;
    config_maps.create(&PostParams::default(), &config_map("second")).await?;
    cluster.compact().await?;
    cluster.restart_api_server().await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let code = eventually!("the watch is expired", watch_error(&config_maps, &old_version).await);
    assert_eq!(code, 410);
    Ok(())
}

#[tokio::test]
async fn deployment_gets_ready_pods_on_a_whole_cluster() -> anyhow::Result<()> {
    let cluster = Cluster::start().await?;
    cluster.kubectl_stdin(&["apply", "-f", "-"], DEPLOYMENT).await?;
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]).await?;
    let ready = cluster.kubectl(&["get", "deployment/web", "-o", "jsonpath={.status.readyReplicas}"]).await?;
    assert_eq!(ready, "3");
    Ok(())
}

#[tokio::test]
async fn containers_have_the_logs_of_the_test() -> anyhow::Result<()> {
    let cluster = Cluster::builder()
        .log(ContainerLog::of_every("hello\nlast line\n").previous("before\n"))
        .log(ContainerLog::of("proxy", "one\ntwo\nthree\n").from("2026-01-01T00:00:00Z".parse()?))
        .start()
        .await?;
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [
        {name: main, image: example/web}, {name: proxy, image: example/proxy}]}}";
    cluster.kubectl_stdin(&["create", "-f", "-"], pod).await?;
    cluster.kubectl(&["wait", "pod/web", "--for=condition=Ready", "--timeout=60s"]).await?;
    let main = ["logs", "web", "-c", "main"];
    let proxy = ["logs", "web", "-c", "proxy"];
    assert_eq!(cluster.kubectl(&main).await?, "hello\nlast line\n");
    assert_eq!(cluster.kubectl(&[&main[..], &["--previous"]].concat()).await?, "before\n");
    let since = "--since-time=2026-01-01T00:00:01Z";
    let late = cluster.kubectl(&[&proxy[..], &["--timestamps", since]].concat()).await?;
    assert_eq!(late, "2026-01-01T00:00:01.000000000Z two\n2026-01-01T00:00:02.000000000Z three\n");

    let followed = Kubectl::with(cluster.kubeconfig()).await?.spawn(&[&proxy[..], &["-f"]].concat())?;
    followed.wait_for_log("three\n").await?;
    cluster.write_log("proxy", "four")?;
    followed.wait_for_log("three\nfour\n").await?;
    assert_eq!(cluster.kubectl(&[&proxy[..], &["--since=1h"]].concat()).await?, "four\n");
    Ok(())
}

#[tokio::test]
async fn kubectl_finds_the_metrics_api_behind_the_api_server() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let error = cluster.kubectl(&["top", "pods"]).await.expect_err("nothing is measured yet");
    assert!(error.to_string().contains("Metrics API not available"), "{error}");
    let metrics = MetricsApi::start(&cluster).await?;
    metrics.measure_pod("default", "web", &json!({ "app": "web" }), &[("main", "12m", "20Mi")]);
    metrics.measure_pod("default", "db", &json!({ "app": "db" }), &[("main", "7m", "30Mi")]);
    let top = ["top", "pods", "--no-headers"];
    assert_eq!(words(&cluster.kubectl(&top).await?), [["db", "7m", "30Mi"], ["web", "12m", "20Mi"]]);
    let some = cluster.kubectl(&[&top[..], &["-l", "app=web"]].concat()).await?;
    assert_eq!(words(&some), [["web", "12m", "20Mi"]]);
    let error = cluster.kubectl(&["top", "pod", "nobody"]).await.expect_err("it is not measured");
    assert!(error.to_string().contains("podmetrics.metrics.k8s.io \"nobody\" not found"), "{error}");
    Ok(())
}

fn words(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn sibling_shares_nothing_but_etcd() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let sibling = cluster.sibling().await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    config_maps.create(&PostParams::default(), &config_map("mine")).await?;
    let of_sibling: Api<ConfigMap> = Api::namespaced(sibling.client(), "default");
    assert!(of_sibling.get_opt("mine").await?.is_none());
    assert_ne!(cluster.url(), sibling.url());
    Ok(())
}

#[tokio::test]
async fn kubeconfig_leads_through_a_proxy() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let proxy = FaultProxy::start(cluster.addr()).await?;
    let kubeconfig = cluster.kubeconfig_via(proxy.addr())?;
    let get = ["get", "--raw", "/readyz", "--kubeconfig", kubeconfig.to_str().context("path")?];
    assert_eq!(cluster.kubectl(&get).await?, "ok");
    proxy.cut();
    let error = cluster.kubectl(&get).await.expect_err("the link is cut");
    assert!(error.to_string().contains("refused"), "{error}");
    Ok(())
}

fn config_map(name: &str) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(name.to_owned());
    config_map
}

/// The code of the error that a watch from this version on begins with.
async fn watch_error(config_maps: &Api<ConfigMap>, version: &str) -> anyhow::Result<u16> {
    let mut events = config_maps.watch(&WatchParams::default(), version).await?.boxed();
    match events.try_next().await? {
        Some(WatchEvent::Error(status)) => Ok(status.code),
        other => anyhow::bail!("the watch goes on: {other:?}"),
    }
}
