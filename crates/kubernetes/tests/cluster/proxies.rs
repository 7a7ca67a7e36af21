use std::{fs, net::SocketAddr, path::PathBuf};

use spindrift_kubernetes::{Api, ApiOptions, Credentials};
use spindrift_process::report;
use spindrift_testkit::{Cluster, ConnectProxy, Manners, free_port, scratch};
use tempfile::TempDir;

use crate::support::{INITIAL, LONG, config_map, core, listing, next_change};

/// Name that only the proxy resolves.
const SERVER: &str = "api.cluster.example:6443";

struct Account {
    path: PathBuf,
    _directory: TempDir,
}

impl Account {
    /// The administrator's kubeconfig for a server with another name, behind a proxy.
    fn behind(cluster: &Cluster, proxy_url: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(cluster.kubeconfig())?;
        let moved =
            format!("server: \"https://{SERVER}\", tls-server-name: localhost, proxy-url: \"{proxy_url}\"");
        let text = text.replace(&format!("server: \"{}\"", cluster.url()), &moved);
        assert!(text.contains(proxy_url), "{text}");
        let directory = scratch("proxied")?;
        let path = directory.path().join("kubeconfig");
        fs::write(&path, text)?;
        Ok(Self { path, _directory: directory })
    }

    async fn connect(&self, options: &ApiOptions) -> Result<Api, spindrift_kubernetes::ConnectError> {
        let credentials = Credentials::Kubeconfig { path: self.path.clone(), context: None };
        Api::connect(&credentials, options).await
    }
}

/// Returns the error of a request by a proxy that cannot be used.
async fn complaint(cluster: &Cluster, place: SocketAddr) -> anyhow::Result<String> {
    let account = Account::behind(cluster, &format!("http://eve:hush@{place}"))?;
    let api = account.connect(&ApiOptions::default()).await?;
    let text = report(&api.version().await.expect_err("the proxy cannot be used"));
    assert!(text.contains(SERVER) && text.contains(&format!("the proxy http://{place}")), "{text}");
    assert!(!text.contains("hush"), "{text}");
    Ok(text)
}

#[tokio::test]
async fn a_proxy_of_the_kubeconfig_carries_everything() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let manners = Manners::Wants("ZXZlOmh1QHNo"); // eve:hu@sh
    let proxy = ConnectProxy::start(cluster.addr(), manners).await?;
    let account = Account::behind(cluster, &format!("http://eve:hu%40sh@{}", proxy.addr()))?;
    let api = account.connect(&ApiOptions::default()).await?;
    assert!(api.version().await?.starts_with("v1."));
    let namespace = cluster.namespace("proxied").await?;
    let target = core(&api, "ConfigMap", &namespace).await?;
    let mut events = api.watch(&target, INITIAL, LONG).await?;
    listing(&mut events).await?;
    config_map(cluster, &namespace, "a").await?;
    next_change(&mut events).await?;
    assert_eq!(proxy.asked(), [SERVER, SERVER], "one connection for watches, one for operations");

    // Without the proxy the name cannot be resolved.
    let direct = account.connect(&ApiOptions { no_proxy: true, ..ApiOptions::default() }).await?;
    assert!(direct.version().await.is_err());
    assert_eq!(proxy.asked().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_named_without_its_password() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    for (manners, reason) in [
        (Manners::Wants("somebody else"), "wants other credentials (407)"),
        (Manners::Refuses, "refuses to connect to api.cluster.example:6443: 403 Not for you"),
        (Manners::Nonsense, "does not answer like a proxy of HTTP"),
        (Manners::HangsUp, "broke off"),
    ] {
        let proxy = ConnectProxy::start(cluster.addr(), manners).await?;
        let text = complaint(cluster, proxy.addr()).await?;
        assert!(text.contains(reason), "{text}");
    }
    let closed = SocketAddr::from(([127, 0, 0, 1], free_port()));
    assert!(complaint(cluster, closed).await?.contains("reach the proxy"));

    let account = Account::behind(cluster, "socks5://eve:hush@127.0.0.1:1080")?;
    let text = report(&account.connect(&ApiOptions::default()).await.err().expect("it is no proxy of HTTP"));
    assert!(text.contains("proxies of SOCKS are not supported") && !text.contains("hush"), "{text}");
    Ok(())
}
