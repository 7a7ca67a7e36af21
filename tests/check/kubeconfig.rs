//! Credentials that cannot be used: each is reported in its place, and hides no other account.

use std::time::{Duration, SystemTime};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use spindrift_testkit::{Certificates, Cluster, FaultProxy, free_port, scratch};

use crate::support::{Page, kubeconfig_with, watching};

/// Token that must never be printed.
const CANARY: &str = "canary-token-of-the-check";

#[tokio::test(flavor = "multi_thread")]
async fn broken_kubeconfigs_are_distinguished_and_hide_no_other_account() {
    let cluster = Cluster::shared().await.unwrap();
    let directory = scratch("kubeconfigs").unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let secret = format!("token: {CANARY}");
    let plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}";
    let nobody = format!("server: \"https://127.0.0.1:{}\"", free_port());
    let server = format!("server: \"{}\"", cluster.url());
    let link = FaultProxy::start(cluster.addr()).await.unwrap();
    link.half_open();
    let page = Page::of_agent(&watching(&json!([
        { "name": "silent", "kubeconfigFile": cluster.kubeconfig_via(link.addr()).unwrap() },
        { "name": "missing", "kubeconfigFile": "/no/such/kubeconfig" },
        { "name": "unparsable", "kubeconfigFile": write("unparsable", &format!("kind: Config\nusers: {{{secret}: [")) },
        { "name": "context", "kubeconfigFile": cluster.kubeconfig(), "context": "production" },
        { "name": "neither" },
        { "name": "pod", "serviceAccount": true },
        { "name": "plugin", "kubeconfigFile": write("plugin", &kubeconfig_with(cluster, &[("token: admin-token", plugin)])) },
        { "name": "token", "kubeconfigFile": write("token", &kubeconfig_with(cluster, &[("token: admin-token", &secret)])) },
        { "name": "away", "kubeconfigFile": write("away", &kubeconfig_with(cluster, &[(&server, &nobody)])) },
        { "name": "good", "kubeconfigFile": cluster.kubeconfig() },
    ])))
    .await;
    page.wrong("account missing", "credentials", "/no/such/kubeconfig", "kubeconfigFile of account missing");
    page.wrong("account unparsable", "credentials", "line 2 is not YAML", "correct the file at this line");
    page.wrong(
        "account context",
        "credentials",
        "production",
        "set context of account context to one that the file has: test",
    );
    page.wrong(
        "account neither",
        "credentials",
        "expected kubeconfigFile, kubeconfigContents, or serviceAccount: true",
        "account neither",
    );
    page.wrong("account pod", "credentials", "use the pod's service account", "run the agent in a pod");
    page.wrong(
        "account plugin",
        "login",
        "the credential plugin no-such-plugin cannot be run",
        "install no-such-plugin",
    );
    page.wrong("account token", "identity", "401", "renew the token");
    page.wrong("account away", "dial", "refuses connections", "server of the kubeconfig of account away");
    page.wrong("account silent", "tls", "there is no TLS", "server of the kubeconfig of account silent");
    page.wrong("account silent", "version", "took longer than 5s", "API server's log");
    for account in ["missing", "unparsable", "context"] {
        page.skipped(&format!("account {account}"), &["dial", "tls", "version", "identity", "rbac"]);
    }
    page.ok("account good", "identity", "admin");
    page.ok("account good", "rbac", "may list and watch 12 kinds in all namespaces");
    assert!(!page.text().contains(CANARY), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_client_certificate_is_found() {
    let cluster = Cluster::shared().await.unwrap();
    let ended = SystemTime::now() - Duration::from_hours(49);
    let authority = Certificates::new().unwrap();
    let identity = authority.client_until("eve", ended).unwrap();
    let data = |file| BASE64_STANDARD.encode(std::fs::read(file).unwrap());
    let shown = format!(
        "client-certificate-data: {}, client-key-data: {}",
        data(identity.certificate),
        data(identity.key)
    );
    let directory = scratch("expired").unwrap();
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, kubeconfig_with(cluster, &[("token: admin-token", &shown)])).unwrap();
    let page = Page::of_agent(&watching(&json!([{ "name": "main", "kubeconfigFile": file }]))).await;
    page.wrong("account main", "client", "(CN=eve) expired 2 days ago", "kubeconfigFile of account main");
    page.wrong("account main", "identity", "401", "");
}
