//! Lists are split while they arrive, whatever their size.

use anyhow::Context;
use serde_json::{Value, json};
use spindrift_kubernetes::{Event, ListStart, RedactRule, Redactions, WatchTarget};
use spindrift_model::Resource;
use spindrift_testkit::{Cluster, PATIENCE};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::timeout,
};

use crate::support::{INITIAL, LONG, connect, core, json, listing, names, next, resource};

const PAGE: ListStart = ListStart { not_older_than: None, page_size: 500 };

async fn create(cluster: &Cluster, namespace: &str, objects: &[Value]) -> anyhow::Result<()> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    cluster.kubectl_stdin(&["-n", namespace, "create", "-f", "-"], &list.to_string()).await?;
    Ok(())
}

fn config_map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "key": value } })
}

#[tokio::test]
async fn compressed_pages_equal_a_watch() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("gzip").await?;
    // Beyond 128 KiB it compresses.
    let objects: Vec<_> =
        (0..60).map(|i| config_map(&format!("map-{i:02}"), &format!("{i} é\"\\ ").repeat(1000))).collect();
    create(cluster, &namespace, &objects).await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let (streamed, _) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    let (paged, _) = listing(&mut api.list(&target, PAGE)).await?;
    assert_eq!(paged.len(), 60);
    assert_eq!(paged, streamed);

    // With redaction, pages are requested without compression; values are redacted in both.
    let rules = [RedactRule { kind: "cm".into(), paths: vec!["data.*".into()], preset: None }];
    let target = target.redacted(&Redactions::compile(&rules)?);
    let mut events = api.list(&target, PAGE);
    let (paged, _) = listing(&mut events).await?;
    let (streamed, _) = listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    assert_eq!(paged, streamed);
    assert!(paged.iter().all(|map| json(map)["data"] == json!({ "key": "REDACTED" })));
    assert_eq!(events.removed_values(), 2 * 60, "the value and the managed fields of each");
    Ok(())
}

#[tokio::test]
async fn objects_up_to_the_api_servers_limit_pass() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("large").await?;
    let mut map = config_map("large", &"0123456789".repeat(100_000));
    map["metadata"]["annotations"] = json!({ "filling": "x".repeat(250_000) });
    create(cluster, &namespace, &[config_map("a-small", "1"), map, config_map("z-small", "1")]).await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    check_large(&api, &target, &["a-small", "large", "z-small"], 1_250_000).await?;

    // Custom resources are bounded by etcd alone, which takes 1.5 MiB.
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "whales.lists.example.com" },
        "spec": {
            "group": "lists.example.com",
            "names": { "kind": "Whale", "plural": "whales" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    create(cluster, &namespace, &[definition]).await?;
    let crd = "crd/whales.lists.example.com";
    cluster.kubectl(&["wait", "--for=condition=Established", crd, "--timeout=60s"]).await?;
    let whale = json!({
        "apiVersion": "lists.example.com/v1", "kind": "Whale", "metadata": { "name": "whale" },
        "spec": { "filling": "é\"".repeat(350_000) },
    });
    create(cluster, &namespace, &[whale]).await?;
    let whales = resource(&api, "lists.example.com", "Whale").await?;
    let target = WatchTarget::new(whales, Some(namespace.as_str().into()));
    check_large(&api, &target, &["whale"], 1_400_000).await
}

async fn check_large(
    api: &spindrift_kubernetes::Api,
    target: &WatchTarget,
    expected: &[&str],
    at_least: usize,
) -> anyhow::Result<()> {
    let (streamed, _) = listing(&mut api.watch(target, INITIAL, LONG).await?).await?;
    assert_eq!(names(&streamed).iter().map(|name| &**name).collect::<Vec<_>>(), expected);
    let largest = streamed.iter().map(|object| object.body.len()).max();
    assert!(largest >= Some(at_least), "{largest:?}");
    let (paged, _) = listing(&mut api.list(target, PAGE)).await?;
    // Lists omit kind and apiVersion, which we add in front; custom resources have them elsewhere.
    assert_eq!(paged.iter().map(json).collect::<Vec<_>>(), streamed.iter().map(json).collect::<Vec<_>>());
    Ok(())
}

/// Serves one list over HTTP/1.1: half of it at once, the rest after a signal.
async fn half_a_page(
    listener: TcpListener,
    halves: [String; 2],
    go_rx: oneshot::Receiver<()>,
) -> anyhow::Result<()> {
    let mut socket = loop {
        let (mut socket, _) = listener.accept().await?;
        let head = read_head(&mut socket).await?;
        if head.starts_with("GET /api/v1/namespaces/n/pods?") {
            break socket;
        }
        // The client tries another protocol first.
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .await?;
    };
    let length = halves[0].len() + halves[1].len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(halves[0].as_bytes()).await?;
    go_rx.await.context("the signal was dropped")?;
    socket.write_all(halves[1].as_bytes()).await?;
    socket.shutdown().await?;
    Ok(())
}

async fn read_head(socket: &mut TcpStream) -> anyhow::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[tokio::test]
async fn an_object_is_emitted_before_its_page_is_complete() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://{}", listener.local_addr()?) } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    std::fs::write(&kubeconfig, config.to_string())?;
    let pod = |name| json!({ "metadata": { "name": name, "uid": name, "resourceVersion": "1" } });
    let halves = [
        format!(r#"{{"items":[{},{{"metadata":{{"name":"#, pod("a")),
        r#""b","uid":"b","resourceVersion":"2"}}],"metadata":{"resourceVersion":"7"}}"#.to_owned(),
    ];
    let (go_tx, go_rx) = oneshot::channel();
    let client = async {
        let api = connect(&kubeconfig).await?;
        let pods = Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        };
        let mut events = api.list(&WatchTarget::new(pods, Some("n".into())), PAGE);
        let Event::Object(first) = next(&mut events).await? else { anyhow::bail!("a comes first") };
        assert_eq!((&*first.name, &json(&first)["kind"]), ("a", &json!("Pod")));
        go_tx.send(()).ok();
        let (rest, version) = listing(&mut events).await?;
        assert_eq!((&*rest[0].name, rest.len(), version.as_str()), ("b", 1, "7"));
        Ok(())
    };
    let (received, served) =
        timeout(PATIENCE, async { tokio::join!(client, half_a_page(listener, halves, go_rx)) }).await?;
    served?;
    received
}
