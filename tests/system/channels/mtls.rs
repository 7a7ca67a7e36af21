//! Over mTLS the certificate comes before the token.

use std::path::Path;

use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use spindrift_process::tls::{ClientTls, ClientTlsFiles, PemFile};
use spindrift_testkit::{AgentProcess, Certificates, Cluster, Database, HubProcess, Identity, eventually};
use tokio::net::TcpStream;
use tonic::{
    Code, Status,
    transport::{Endpoint, Uri},
};
use tower::service_fn;

use super::{CHANNELS, Caller, registration};
use crate::support::{LONG, account};

/// A hub that wants to see a certificate of the authority.
async fn hub(authority: &Certificates, settings: &[(&str, Value)]) -> (Database, HubProcess) {
    let Identity { certificate, key } = authority.server("hub.example.com").unwrap();
    let security = json!({
        "enabled": true,
        "certificateChain": certificate,
        "privateKey": key,
        "clientAuth": "REQUIRE",
        "trustCertCollection": authority.authority(),
    });
    let mut all = vec![("/kubesvc/grpc/server/security", security)];
    all.extend(settings.iter().cloned());
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &all).await.unwrap();
    (database, hub)
}

/// Registers as one who trusts the authority and shows this certificate; also opens all channels.
async fn enter(hub: &HubProcess, authority: &Certificates, shown: Option<Identity>) -> Result<(), Status> {
    let file = |path: &Path| PemFile::new("test", path.to_str().unwrap());
    let tls = ClientTls::open(ClientTlsFiles {
        server_name: Some("hub.example.com".into()),
        ca: Some(file(authority.authority())),
        certificate: shown.as_ref().map(|identity| file(&identity.certificate)),
        key: shown.as_ref().map(|identity| file(&identity.key)),
        alpn: vec![b"h2".to_vec()],
        ..ClientTlsFiles::default()
    })
    .unwrap();
    let address = hub.grpc();
    let connector = service_fn(move |_: Uri| {
        let tls = tls.clone();
        async move { tls.connect("localhost", TcpStream::connect(address).await?).await.map(TokioIo::new) }
    });
    let transport = Endpoint::from_static("http://hub").connect_with_connector_lazy(connector);
    let mut caller = Caller::new(transport);
    let welcome = caller.register(registration("agent-a")).await?;
    let mut open = Vec::new();
    for channel in CHANNELS {
        open.push(caller.open_rightly(channel, &welcome).await?);
    }
    Ok(())
}

/// The hub has refused the connection, and its log names the reason.
async fn assert_turned_away(hub: &HubProcess, entered: Result<(), Status>, reason: &str) {
    entered.expect_err("the connection is refused");
    hub.daemon().wait_for_log(reason).await.unwrap();
    let metrics = hub.text("/metrics").await.unwrap();
    assert!(metrics.contains("spindrift_hub_registrations_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn a_certificate_of_the_trusted_authority_is_let_in() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&authority, &[]).await;
    enter(&hub, &authority, Some(authority.client("agent-a").unwrap())).await.unwrap();
}

#[tokio::test]
async fn a_missing_certificate_is_refused() {
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&authority, &[]).await;
    let entered = enter(&hub, &authority, None).await;
    let reason = "TLS handshake on the gRPC port (kubesvc.grpc.server.port) failed: the peer showed no certificate; \
                  set clouddriver.tls.clientCertFile and clientKeyFile in the agent";
    assert_turned_away(&hub, entered, reason).await;
}

#[tokio::test]
async fn a_foreign_certificate_is_refused() {
    let authority = Certificates::new().unwrap();
    let foreign = Certificates::new().unwrap();
    let (_database, hub) = hub(&authority, &[]).await;
    let entered = enter(&hub, &authority, Some(foreign.client("agent-a").unwrap())).await;
    let reason = "TLS handshake on the gRPC port (kubesvc.grpc.server.port) failed: \
                  the certificate of the peer is not trusted";
    assert_turned_away(&hub, entered, reason).await;
}

#[tokio::test]
async fn only_subjects_that_match_a_filter_are_let_in() {
    let authority = Certificates::new().unwrap();
    let filter = json!({ "enabled": true, "filters": ["^CN=fleet-[0-9]+$", "^CN=spare$"] });
    let (_database, hub) = hub(&authority, &[("/kubesvc/grpc/auth/x509", filter)]).await;
    for welcome in ["fleet-7", "spare"] {
        enter(&hub, &authority, Some(authority.client(welcome).unwrap())).await.unwrap();
    }
    for stranger in ["fleet-x", "not-spare"] {
        let status = enter(&hub, &authority, Some(authority.client(stranger).unwrap())).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{status}");
        for part in [format!("CN={stranger}"), "kubesvc.grpc.auth.x509.filters".into()] {
            assert!(status.message().contains(&part), "{status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_a_certificate_sends_its_objects() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("mtls").await.unwrap();
    let authority = Certificates::new().unwrap();
    let (_database, hub) = hub(&authority, &[("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]))]).await;
    let Identity { certificate, key } = authority.client("agent-a").unwrap();
    let agent = AgentProcess::with_settings(
        "agent-a",
        json!({
            "clouddriver": {
                "grpc": hub.grpc().to_string(),
                "tls": {
                    "cacertFile": authority.authority(),
                    "clientCertFile": certificate,
                    "clientKeyFile": key,
                    "serverName": "hub.example.com",
                },
            },
            "kubernetes": { "accounts": [account("main", cluster)] },
        }),
    )
    .unwrap();
    cluster.kubectl(&["create", "configmap", "sealed", "-n", namespace]).await.unwrap();
    let query = [("account", "main"), ("namespace", namespace), ("name", "sealed")];
    eventually!("it arrives", LONG, !hub.objects(&query).await.unwrap().is_empty());
    assert_eq!(agent.get("/health").await.unwrap()["hub"], "connected");
}
