//! Checks of an account against its API server: certificate, clock, permissions.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::SignedDuration;
use serde_json::{Value, json};
use spindrift_testkit::{Certificates, Cluster, free_port, scratch};
use tempfile::TempDir;

use crate::{
    gateway::Gateway,
    support::{Page, kubeconfig_with, watching},
};

/// Writes the kubeconfig of a service account.
async fn service_account(cluster: &Cluster, namespace: &str, name: &str) -> (TempDir, PathBuf) {
    cluster.kubectl(&["create", "serviceaccount", name, "-n", namespace]).await.unwrap();
    let token = cluster.kubectl(&["create", "token", name, "-n", namespace]).await.unwrap();
    let directory = scratch("service-account").unwrap();
    let file = directory.path().join("kubeconfig");
    let token = format!("token: {}", token.trim());
    std::fs::write(&file, kubeconfig_with(cluster, &[("token: admin-token", &token)])).unwrap();
    (directory, file)
}

/// Lets a service account do something, in one namespace or in all.
async fn allow(cluster: &Cluster, namespace: Option<&str>, subject: &str, verbs: &str, resource: &str) {
    let name = format!("{}-{resource}", subject.replace(':', "-"));
    let (role, binding) =
        if namespace.is_some() { ("role", "rolebinding") } else { ("clusterrole", "clusterrolebinding") };
    let within = namespace.map(|namespace| format!("--namespace={namespace}"));
    let (verb, resource) = (format!("--verb={verbs}"), format!("--resource={resource}"));
    let (bound, account) = (format!("--{role}={name}"), format!("--serviceaccount={subject}"));
    for mut command in
        [vec!["create", role, &name, &verb, &resource], vec!["create", binding, &name, &bound, &account]]
    {
        command.extend(within.as_deref());
        cluster.kubectl(&command).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_named_with_the_rule_to_add() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("rbac").await.unwrap();
    let (_directory, kubeconfig) = service_account(cluster, &namespace, "narrow").await;
    let subject = format!("{namespace}:narrow");
    allow(cluster, None, &subject, "list,watch", "pods").await;
    allow(cluster, None, &subject, "list", "services").await;
    let page = Page::of_agent(&watching(&json!([{ "name": "main", "kubeconfigFile": kubeconfig }]))).await;
    let user = format!("system:serviceaccount:{namespace}:narrow");
    page.ok("account main", "identity", &user);
    page.ok("account main", "rbac", "may list and watch 1 kinds in all namespaces");
    page.wrong(
        "account main",
        "rbac",
        "may not list and watch deployments.apps in all namespaces",
        r#"{apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"]}"#,
    );
    page.wrong("account main", "rbac", "may not watch services in all namespaces", &user);
    page.wrong("account main", "rbac", "may not list and watch namespaces", "ClusterRoleBinding");
    page.says("account main", "cluster", "warn", "its uid cannot be read", "kube-system");
    assert_eq!(page.lines("account main", "rbac").len(), 12, "one for pods, one for each other kind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_account_is_judged_by_its_namespaces() {
    let cluster = Cluster::shared().await.unwrap();
    let (mine, other) = (cluster.namespace("mine").await.unwrap(), cluster.namespace("other").await.unwrap());
    let (_directory, kubeconfig) = service_account(cluster, &mine, "limited").await;
    allow(cluster, Some(&mine), &format!("{mine}:limited"), "list,watch", "pods").await;
    let account = |namespaces: Value| {
        let settings = json!({ "kubeconfigFile": kubeconfig, "kinds": ["Pod"], "namespaces": namespaces });
        let mut settings = settings;
        settings["name"] = json!("main");
        watching(&json!([settings]))
    };
    let page = Page::of_agent(&account(json!([mine]))).await;
    page.ok("account main", "rbac", &format!("may list and watch 1 kinds in {mine}"));
    assert_eq!(page.lines("account main", "rbac").len(), 1);
    let page = Page::of_agent(&account(json!([mine, other]))).await;
    let found = format!("may not list and watch pods in namespace {other}");
    page.wrong("account main", "rbac", &found, &format!("RoleBinding in {other}"));
    assert!(!page.text().contains(&format!("pods in namespace {mine}")), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_the_api_server_does_not_serve_are_named() {
    let cluster = Cluster::shared().await.unwrap();
    let account =
        json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig(), "kinds": ["Pod", "Pott"] }]);
    let page = Page::of_agent(&watching(&account)).await;
    page.says("account main", "kinds", "warn", "no kind \"Pott\"", "kinds of account main");
    page.ok("account main", "rbac", "1 kinds");
}

/// A kubeconfig that takes the way through a gateway, and trusts this authority.
fn kubeconfig_via(cluster: &Cluster, gateway: &Gateway, authority: &Certificates) -> (TempDir, PathBuf) {
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let (_, data) = text.split_once("certificate-authority-data: ").unwrap();
    let (data, _) = data.split_once('}').unwrap();
    let trusted = BASE64_STANDARD.encode(std::fs::read(authority.authority()).unwrap());
    let directory = scratch("via").unwrap();
    let file = directory.path().join("kubeconfig");
    let via = format!("https://{}", gateway.addr());
    std::fs::write(&file, kubeconfig_with(cluster, &[(data, &trusted), (&cluster.url(), &via)])).unwrap();
    (directory, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_of_the_api_server_that_is_ten_minutes_off_is_found() {
    let cluster = Cluster::shared().await.unwrap();
    let authority = Certificates::new().unwrap();
    let identity = authority.server("localhost").unwrap();
    let gateway = Gateway::api_server(cluster, &identity, SignedDuration::from_mins(-10)).await;
    let (_directory, kubeconfig) = kubeconfig_via(cluster, &gateway, &authority);
    let page = Page::of_agent(&watching(&json!([{ "name": "main", "kubeconfigFile": kubeconfig }]))).await;
    page.ok("account main", "certificate", "CN=localhost");
    page.ok("account main", "version", "v1.");
    page.wrong("account main", "clock", "10 minutes behind the one here", "NTP");
    page.ok("account main", "rbac", "12 kinds");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_and_an_expired_api_server_are_distinguished() {
    let cluster = Cluster::shared().await.unwrap();
    let (authority, foreign) = (Certificates::new().unwrap(), Certificates::new().unwrap());
    let identity = authority.server_until("localhost", SystemTime::now() - Duration::from_hours(49)).unwrap();
    let gateway = Gateway::api_server(cluster, &identity, SignedDuration::ZERO).await;
    let (_directory, expired) = kubeconfig_via(cluster, &gateway, &authority);
    let identity = authority.server("localhost").unwrap();
    let gateway = Gateway::api_server(cluster, &identity, SignedDuration::ZERO).await;
    let (_other_directory, untrusted) = kubeconfig_via(cluster, &gateway, &foreign);
    let page = Page::of_agent(&watching(&json!([
        { "name": "expired", "kubeconfigFile": expired },
        { "name": "untrusted", "kubeconfigFile": untrusted },
        { "name": "insecure", "kubeconfigFile": untrusted, "insecure": true },
    ])))
    .await;
    page.wrong("account expired", "certificate", "expired 2 days ago", "renew the API server's certificate");
    page.wrong("account expired", "version", "", "above");
    page.wrong(
        "account untrusted",
        "certificate",
        "is not in the certificate authority",
        "certificate-authority-data",
    );
    page.says("account insecure", "certificate", "warn", "every certificate", "insecure: false");
    page.ok("account insecure", "version", "v1.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_the_environment_is_on_the_way_to_all_but_this_machine() {
    let cluster = Cluster::shared().await.unwrap();
    let directory = scratch("kubeconfigs").unwrap();
    let far = directory.path().join("far");
    let (here, elsewhere) =
        (format!("server: \"{}\"", cluster.url()), "server: \"https://api.example:6443\"");
    std::fs::write(&far, kubeconfig_with(cluster, &[(&here, elsewhere)])).unwrap();
    let accounts = json!([
        { "name": "far", "kubeconfigFile": far },
        { "name": "near", "kubeconfigFile": cluster.kubeconfig() },
        { "name": "direct", "kubeconfigFile": far, "noProxy": true },
    ]);
    let nobody = free_port();
    let proxy = format!("http://eve:hush@127.0.0.1:{nobody}");
    let mut config = watching(&accounts);
    let check = async |config: &Value, proxy: &str| {
        Page::within("spindrift-agent", &config.to_string(), &[("HTTPS_PROXY", proxy)]).await
    };
    let page = check(&config, &proxy).await;
    page.ok("account far", "proxy", &format!("goes through http://127.0.0.1:{nobody}"));
    page.wrong("account far", "dial", "refuses connections", "noProxy of account far");
    page.ok("account near", "version", "v1.");
    page.wrong("account direct", "dns", "api.example", "server of the kubeconfig of account direct");
    page.ok("hub", "proxy", "none is on the way");
    assert!(!page.text().contains("hush"), "{}", page.text());

    config["clouddriver"]["grpc"] = json!("hub.example:9091");
    let page = check(&config, &proxy).await;
    page.ok("hub", "proxy", &format!("goes through http://127.0.0.1:{nobody}"));
    page.wrong("hub", "dial", "refuses connections", "clouddriver.noProxy");
    let page = check(&config, "socks5://eve:hush@proxy").await;
    page.wrong("hub", "proxy", "proxies of SOCKS are not supported", "clouddriver.noProxy: true");
    page.wrong("account far", "credentials", "proxies of SOCKS are not supported", "noProxy: true");
    assert!(!page.text().contains("hush"), "{}", page.text());
}
