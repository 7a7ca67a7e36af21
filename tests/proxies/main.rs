//! Agents that reach their hub through real proxies, which end what is idle.
//!
//! The short form, which `make test` runs, gives the proxies short timeouts and the agent short heartbeats. `make proxies`
//! runs the same with the defaults of all, quiet for three minutes at least.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_testkit::{
    AgentProcess, Certificates, Cluster, Database, HubProcess, TlsProxy, TlsProxyKind, TlsProxyOptions,
    eventually,
};

/// Long enough for a list on a loaded machine.
const LONG: Duration = Duration::from_mins(1);

/// Objects that are sent before the quiet time: more than the megabyte after which nginx ends a stream by default.
const OBJECTS: usize = 30;
const OBJECT_BYTES: usize = 80_000;

/// Length of the quiet time, and the timeouts that it has to exceed.
struct Pace {
    /// Idle timeout of the proxies; none is their default.
    idle: Option<Duration>,
    /// `clouddriver.keepAliveHeartbeatSeconds`; none is the default.
    heartbeat_seconds: Option<u64>,
    /// Heartbeats of the Control channel that make up the quiet time.
    heartbeats: u64,
    /// Time in which they must have come.
    longest: Duration,
}

// === impl Pace ===

impl Pace {
    fn of_environment() -> Self {
        if std::env::var_os("SPINDRIFT_PROXIES_DEFAULTS").is_some() {
            // Two heartbeats are 3.75 s apart at least: three minutes.
            return Self { idle: None, heartbeat_seconds: None, heartbeats: 48, longest: LONG * 6 };
        }
        // 0.75 s apart at least: twice the idle timeout.
        let idle = Some(Duration::from_secs(6));
        Self { idle, heartbeat_seconds: Some(1), heartbeats: 16, longest: LONG * 2 }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_session_lasts_behind_an_nginx_that_ends_tls() {
    quiet_behind(TlsProxyKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_session_lasts_behind_an_envoy_that_ends_tls() {
    quiet_behind(TlsProxyKind::Envoy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_session_lasts_behind_an_nginx_that_passes_tls_through() {
    quiet_behind(TlsProxyKind::NginxPassThrough).await;
}

/// Sends objects, waits through the quiet time, and checks that the first session goes on and nothing was lost.
async fn quiet_behind(kind: TlsProxyKind) {
    let pace = Pace::of_environment();
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("quiet").await.unwrap();
    let authority = Certificates::new().unwrap();
    let identity = authority.server("hub.example.com").unwrap();
    let mut settings = vec![("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]))];
    if kind == TlsProxyKind::NginxPassThrough {
        let security = json!({
            "enabled": true,
            "certificateChain": identity.certificate,
            "privateKey": identity.key,
        });
        settings.push(("/kubesvc/grpc/server/security", security));
    }
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let options = TlsProxyOptions { kind, identity: &identity, idle: pace.idle };
    let proxy = TlsProxy::start(hub.grpc(), options).await.unwrap();
    let mut clouddriver = json!({
        "grpc": proxy.addr().to_string(),
        "tls": { "cacertFile": authority.authority(), "serverName": "hub.example.com" },
    });
    if let Some(seconds) = pace.heartbeat_seconds {
        clouddriver["keepAliveHeartbeatSeconds"] = json!(seconds);
    }
    let account = json!({
        "name": "main",
        "kubeconfigFile": cluster.kubeconfig(),
        "namespaces": [namespace],
    });
    let agent = AgentProcess::with_settings(
        "agent-a",
        json!({ "clouddriver": clouddriver, "kubernetes": { "accounts": [account] } }),
    )
    .unwrap();
    let stored = async |name: &str| {
        let query = [("account", "main"), ("namespace", &**namespace), ("name", name)];
        hub.objects(&query).await.unwrap().len()
    };

    let last = format!("large-{}", OBJECTS - 1);
    cluster.kubectl_stdin(&["create", "-f", "-"], &objects(namespace).to_string()).await.unwrap();
    eventually!("the objects are stored", LONG, stored(&last).await == 1);
    let listings = agent.metric("spindrift_agent_listings_total").await.unwrap();

    let heartbeats = async |channel: &str| {
        let name = format!("spindrift_agent_heartbeats_total{{channel=\"{channel}\"}}");
        agent.metric(&name).await.unwrap()
    };
    let quiet_until = heartbeats("Control").await + pace.heartbeats;
    eventually!("the quiet time is over", pace.longest, heartbeats("Control").await >= quiet_until);

    let log = || format!("{}\n{}", agent.daemon().log(), proxy.log());
    assert_eq!(agent.metric("kubesvc_connection_count").await.unwrap(), 1, "{}", log());
    assert_eq!(agent.metric("kubesvc_disconnection_total").await.unwrap(), 0, "{}", log());
    assert_eq!(hub.metric("spindrift_hub_registrations_total").await.unwrap(), 1, "{}", log());
    assert_eq!(agent.metric("spindrift_agent_listings_total").await.unwrap(), listings, "{}", log());
    for channel in ["Events", "Results"] {
        assert!(heartbeats(channel).await >= pace.heartbeats / 2, "{channel}: {}", log());
    }

    // The channels are the same ones, and carry events and results.
    cluster.kubectl(&["create", "configmap", "after", "-n", namespace]).await.unwrap();
    eventually!("a change is stored", LONG, stored("after").await == 1);
    let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "after" });
    let answer = hub.operations("main").ask(&json!({ "verb": "get", "target": target })).await.unwrap();
    assert!(answer.is_done(), "{answer:?}");
    assert_eq!(answer.json()["metadata"]["name"], "after");
    assert_eq!(agent.metric("kubesvc_connection_count").await.unwrap(), 1, "{}", log());
}

/// ConfigMaps that compression does not make much smaller.
fn objects(namespace: &str) -> Value {
    let mut random = fastrand::Rng::with_seed(7);
    let items: Vec<_> = (0..OBJECTS)
        .map(|i| {
            let text: String = std::iter::repeat_with(|| random.alphanumeric()).take(OBJECT_BYTES).collect();
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": format!("large-{i}"), "namespace": namespace },
                "data": { "text": text },
            })
        })
        .collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}
