use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use http::Request;
use serde_json::{Value, json};
use spindrift_kubernetes::{Api, ApiError, Event, EventStream, ListStart, WatchTarget};
use spindrift_process::report;
use spindrift_testkit::{Cluster, FaultProxy, eventually};

use crate::{
    front::{Front, Security, Speaks},
    support::{INITIAL, LONG, config_map, connect, core, listing, next, next_change},
};

/// Kinds with small objects: group, version, kind, plural and required fields.
const KINDS: [(&str, &str, &str, &str, &str); 12] = [
    ("", "v1", "ConfigMap", "configmaps", "{}"),
    ("", "v1", "Secret", "secrets", "{}"),
    ("", "v1", "ServiceAccount", "serviceaccounts", "{}"),
    ("", "v1", "ResourceQuota", "resourcequotas", "{}"),
    ("", "v1", "LimitRange", "limitranges", r#"{"spec":{"limits":[]}}"#),
    ("", "v1", "Endpoints", "endpoints", "{}"),
    ("", "v1", "Service", "services", r#"{"spec":{"clusterIP":"None"}}"#),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", r#"{"rules":[]}"#),
    ("coordination.k8s.io", "v1", "Lease", "leases", "{}"),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", r#"{"spec":{"podSelector":{}}}"#),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", r#"{"spec":{"selector":{}}}"#),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", r#"{"revision":1,"data":{}}"#),
];

const NAMESPACES: usize = 20;

/// Slightly more than needed: an API server processes many requests at once, but this machine is small.
const AT_ONCE: usize = 40;

async fn create(cluster: &Cluster, kind: usize, namespace: &str, object: Value) -> anyhow::Result<()> {
    let (group, version, kind, plural, fields) = KINDS[kind];
    let (root, api_version) = match group {
        "" => ("/api".to_owned(), version.to_owned()),
        group => (format!("/apis/{group}"), format!("{group}/{version}")),
    };
    let mut whole: Value = serde_json::from_str(fields)?;
    let fields = whole.as_object_mut().context("an object")?;
    fields.insert("apiVersion".into(), api_version.into());
    fields.insert("kind".into(), kind.into());
    fields.extend(object.as_object().context("an object")?.clone());
    let path = format!("{root}/{version}/namespaces/{namespace}/{plural}");
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(whole.to_string().into_bytes())?;
    cluster.client().request::<Value>(request).await.with_context(|| format!("create a {kind}"))?;
    Ok(())
}

async fn watches(api: &Api, target: &WatchTarget, count: usize) -> anyhow::Result<Vec<EventStream>> {
    let begun = (0..count).map(async |_| {
        let mut events = api.watch(target, INITIAL, LONG).await?;
        listing(&mut events).await?;
        anyhow::Ok(events)
    });
    try_join_all(begun).await
}

async fn all_see(events: &mut [EventStream], name: &str) -> anyhow::Result<()> {
    for events in events {
        let event = next_change(events).await?;
        ensure!(matches!(&event, Event::Object(object) if &*object.name == name), "{event:?}");
    }
    Ok(())
}

/// Counts the TCP connections of this process to a port.
fn connections_to(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    let table = std::fs::read_to_string("/proc/self/net/tcp").expect("Linux tells");
    let to_port = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields[2].ends_with(&format!(":{port:04X}")) && fields[3] == ESTABLISHED
    };
    table.lines().skip(1).filter(to_port).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_kinds_in_twenty_namespaces_need_few_connections() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let link = FaultProxy::start(cluster.addr()).await?;
    let api = connect(&cluster.kubeconfig_via(link.addr())?).await?;
    let served = api.discover().await?.resources;
    let resource = |(group, _, kind, ..): (&str, &str, &str, &str, &str)| {
        let found = served.iter().find(|served| &*served.group == group && &*served.kind == kind);
        found.cloned().with_context(|| format!("{kind} is not served"))
    };
    let mut namespaces = Vec::new();
    for _ in 0..NAMESPACES {
        namespaces.push(cluster.namespace("many").await?);
    }
    let places = (0..KINDS.len()).flat_map(|kind| namespaces.iter().map(move |namespace| (kind, namespace)));
    let begun = places.clone().map(async |(kind, namespace)| {
        let target = WatchTarget::new(resource(KINDS[kind])?, Some(namespace.as_str().into()));
        let mut events = api.watch(&target, INITIAL, LONG).await?;
        listing(&mut events).await?;
        anyhow::Ok((kind, namespace, events))
    });
    let mut begun = try_join_all(begun).await?;
    assert_eq!(begun.len(), 240);
    assert_eq!(api.stats().streams, 240);

    stream::iter(places.map(anyhow::Ok))
        .try_for_each_concurrent(AT_ONCE, |(kind, namespace)| {
            create(cluster, kind, namespace, json!({ "metadata": { "name": "told" } }))
        })
        .await?;
    for (kind, namespace, events) in &mut begun {
        // A namespace gets some objects by itself.
        let told = async {
            loop {
                match next_change(events).await? {
                    Event::Object(object) if &*object.name == "told" => return anyhow::Ok(()),
                    _ => {}
                }
            }
        };
        told.await.with_context(|| format!("{} in {namespace}", KINDS[*kind].2))?;
    }
    let open = connections_to(link.addr().port());
    assert!((1..=4).contains(&open), "{open} connections for 240 watches");
    assert_eq!(open, api.stats().connections);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_delays_no_other_request() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let (flooded, calm) = (cluster.namespace("flood").await?, cluster.namespace("calm").await?);
    let large = "x".repeat(500_000);
    for number in 0..6 {
        let object = json!({ "metadata": { "name": format!("large-{number}") }, "data": { "text": large } });
        create(cluster, 0, &flooded, object).await?;
    }
    let target = core(&api, "ConfigMap", &flooded).await?;
    let mut unread = Vec::new();
    for _ in 0..20 {
        unread.push(api.watch(&target, INITIAL, LONG).await?);
    }
    let pages = api.list(&target, ListStart { not_older_than: None, page_size: 100 });

    let target = core(&api, "ConfigMap", &calm).await?;
    let mut read = watches(&api, &target, 3).await?;
    config_map(cluster, &calm, "seen").await?;
    all_see(&mut read, "seen").await?;
    api.version().await?;
    assert_eq!(api.stats().connections, 2, "one for watches, one for operations");

    // The stalled watches still work.
    drop(pages);
    for events in &mut unread {
        assert_eq!(listing(events).await?.0.len(), 6);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_servers_limit_another_connection_is_opened() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let front = Front::start(cluster, Speaks::Http2 { max_streams: 8 }, Security::Tls).await?;
    let api = connect(&front.kubeconfig()?).await?;
    let namespace = cluster.namespace("limit").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let questions = front.accepted();
    let mut events = watches(&api, &target, 20).await?;
    assert_eq!(front.accepted() - questions, 3, "20 watches, 8 to a connection");
    config_map(cluster, &namespace, "a").await?;
    all_see(&mut events, "a").await?;

    // A watch that has ended frees its stream.
    events.truncate(19);
    eventually!("the stream is free", api.stats().streams == 19);
    events.extend(watches(&api, &target, 5).await?);
    assert_eq!(front.accepted() - questions, 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_goodbye_old_watches_live_on_and_new_ones_go_elsewhere() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let front = Front::start(cluster, Speaks::Http2 { max_streams: 100 }, Security::Tls).await?;
    let api = connect(&front.kubeconfig()?).await?;
    let namespace = cluster.namespace("goodbye").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = watches(&api, &target, 5).await?;
    let before = api.stats();
    front.send_go_away();
    // Requests before GOAWAY arrives still use the old connection; each costs a round trip.
    for _ in 0..100 {
        events.extend(watches(&api, &target, 1).await?);
        if api.stats().dials > before.dials {
            break;
        }
    }
    assert!(api.stats().dials > before.dials, "GOAWAY was not processed");
    config_map(cluster, &namespace, "a").await?;
    all_see(&mut events, "a").await?;
    api.version().await?;

    // The old connection ends with the last of its watches.
    events.drain(..events.len() - 1);
    eventually!("what is drained is closed", api.stats().connections == 2);
    all_still_work(cluster, &namespace, &mut events).await
}

async fn all_still_work(
    cluster: &Cluster,
    namespace: &str,
    events: &mut [EventStream],
) -> anyhow::Result<()> {
    config_map(cluster, namespace, "last").await?;
    all_see(events, "last").await
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_with_http1_only_are_supported() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    for security in [Security::Tls, Security::Plaintext] {
        let front = Front::start(cluster, Speaks::Http1, security).await?;
        let api = connect(&front.kubeconfig()?).await?;
        let namespace = cluster.namespace("old").await?;
        let target = core(&api, "ConfigMap", &namespace).await?;
        let mut events = watches(&api, &target, 5).await?;
        config_map(cluster, &namespace, "a").await?;
        all_see(&mut events, "a").await?;
        assert_eq!(api.stats().streams, 5);

        // A connection that has answered is used again.
        api.version().await?;
        let dials = api.stats().dials;
        for _ in 0..5 {
            api.version().await?;
        }
        assert!(api.stats().dials <= dials + 1, "{:?}", api.stats());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_in_plaintext_where_it_is_understood() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let front = Front::start(cluster, Speaks::Http2 { max_streams: 100 }, Security::Plaintext).await?;
    let api = connect(&front.kubeconfig()?).await?;
    let namespace = cluster.namespace("plain").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = watches(&api, &target, 20).await?;
    config_map(cluster, &namespace, "a").await?;
    all_see(&mut events, "a").await?;
    assert_eq!(front.accepted(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_client_certificate_is_reported() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    for speaks in [Speaks::Http1, Speaks::Http2 { max_streams: 100 }] {
        let front = Front::start(cluster, speaks, Security::MutualTls).await?;
        let api = connect(&front.kubeconfig()?).await?;
        // A server that closes while data arrives may lose its own last bytes: TCP drops unread data on a reset.
        let mut told = Vec::new();
        for _ in 0..50 {
            told.push(report(&api.version().await.err().context("it wants a certificate")?));
        }
        assert!(told.iter().any(|error| error.contains("CertificateRequired")), "{told:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_api_server_is_found_again() -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await?;
    let api = connect(cluster.kubeconfig()).await?;
    let namespace = cluster.namespace("again").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = watches(&api, &target, 3).await?;
    cluster.stop_api_server();
    for events in &mut events {
        let broken = async {
            loop {
                if let Err(error) = next(events).await {
                    return error;
                }
            }
        };
        broken.await;
    }
    let error = api.watch(&target, INITIAL, LONG).await.err().context("the server is down")?;
    assert!(matches!(error, ApiError::Send { .. }), "{error:?}");
    cluster.start_api_server().await?;
    // No request fails because of the dead connections.
    api.version().await?;
    let mut events = watches(&api, &target, 3).await?;
    all_still_work(&cluster, &namespace, &mut events).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_connection_is_detected_without_requests() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let link = FaultProxy::start(cluster.addr()).await?;
    let api = connect(&cluster.kubeconfig_via(link.addr())?).await?;
    let namespace = cluster.namespace("dead").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = watches(&api, &target, 2).await?;
    link.half_open();
    // Two pings' time, which is long before the end of the watch.
    let found = tokio::time::timeout(Duration::from_mins(1), async {
        for events in &mut events {
            while let Some(Ok(_)) = events.next().await {}
        }
    });
    found.await.context("the watches hang")?;
    link.heal();
    let mut events = watches(&api, &target, 2).await?;
    all_still_work(cluster, &namespace, &mut events).await
}
