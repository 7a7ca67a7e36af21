use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use spindrift_kubernetes::{Api, ApiOptions, Credentials, EventStream, WatchTarget};
use spindrift_process::report;
use spindrift_testkit::{Cluster, eventually, scratch};
use tempfile::TempDir;

use crate::support::{INITIAL, LONG, config_map, connect, core, listing, next_change};

const CANARY: &str = "canary-of-a-token";

/// A service account that may watch ConfigMaps in its namespace, and a place for its kubeconfig.
struct Robot<'a> {
    cluster: &'a Cluster,
    namespace: String,
    directory: TempDir,
}

impl<'a> Robot<'a> {
    async fn new(cluster: &'a Cluster) -> anyhow::Result<Self> {
        let namespace = cluster.namespace("robot").await?;
        let create = async |arguments: &[&str]| {
            cluster.kubectl(&[&["-n", &namespace, "create"], arguments].concat()).await
        };
        create(&["serviceaccount", "robot"]).await?;
        create(&["role", "reader", "--verb=list,watch", "--resource=configmaps"]).await?;
        let subject = format!("--serviceaccount={namespace}:robot");
        create(&["rolebinding", "reader", "--role=reader", &subject]).await?;
        Ok(Self { cluster, directory: scratch("robot")?, namespace })
    }

    /// A token that ends with the Secret of this name.
    async fn token(&self, name: &str) -> anyhow::Result<String> {
        let kubectl = async |arguments: &[&str]| {
            self.cluster.kubectl(&[&["-n", self.namespace.as_str()], arguments].concat()).await
        };
        kubectl(&["create", "secret", "generic", name]).await?;
        let bound = format!("--bound-object-name={name}");
        let token = kubectl(&["create", "token", "robot", "--bound-object-kind=Secret", &bound]).await?;
        Ok(token.trim().to_owned())
    }

    /// Revokes a token, and waits until it has left the cache of the API server.
    async fn revoke(&self, name: &str, token: &str) -> anyhow::Result<()> {
        self.cluster.kubectl(&["-n", &self.namespace, "delete", "secret", name]).await?;
        let old = connect(&self.kubeconfig("old", &format!("token: {token}"))?).await?;
        eventually!("the old token is refused", is_refused(&old).await);
        Ok(())
    }

    fn kubeconfig(&self, name: &str, user: &str) -> anyhow::Result<PathBuf> {
        let path = self.file(name);
        let text = fs::read_to_string(self.cluster.kubeconfig())?;
        let changed = text.replace("token: admin-token", user);
        assert_ne!(text, changed);
        fs::write(&path, changed)?;
        Ok(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a program that counts its runs, and the `exec` of a kubeconfig that names it.
    fn plugin(&self, script: &str) -> anyhow::Result<String> {
        let path = self.file("plugin");
        let runs = self.file("runs");
        fs::write(&path, format!("#!/bin/sh\necho run >> '{}'\n{script}\n", runs.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: {}}}", path.display()))
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.file("runs")).unwrap_or_default().lines().count()
    }

    fn user(&self) -> String {
        format!("system:serviceaccount:{}:robot", self.namespace)
    }

    async fn watch(&self, api: &Api) -> anyhow::Result<(WatchTarget, EventStream)> {
        let admin = connect(self.cluster.kubeconfig()).await?;
        let target = core(&admin, "ConfigMap", &self.namespace).await?;
        let mut events = api.watch(&target, INITIAL, LONG).await?;
        listing(&mut events).await?;
        Ok((target, events))
    }
}

async fn is_refused(api: &Api) -> bool {
    let refusal = api.user_name().await;
    refusal.is_err_and(|error| error.status().is_some_and(spindrift_kubernetes::Status::is_unauthorized))
}

fn credential(token: &str, end: SignedDuration) -> String {
    json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "token": token, "expirationTimestamp": (Timestamp::now() + end).to_string() },
    })
    .to_string()
}

/// Returns the error of connecting.
async fn complaint(path: &Path) -> String {
    let credentials = Credentials::Kubeconfig { path: path.to_owned(), context: None };
    let options = ApiOptions { no_proxy: true, ..ApiOptions::default() };
    report(&Api::connect(&credentials, &options).await.err().expect("the credentials are useless"))
}

#[tokio::test]
async fn another_token_in_the_kubeconfig_is_used_and_watches_live_on() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    let first = robot.token("first").await?;
    let api = connect(&robot.kubeconfig("kubeconfig", &format!("token: {first}"))?).await?;
    assert_eq!(api.user_name().await?, robot.user());
    let (target, mut events) = robot.watch(&api).await?;
    let before = api.stats();

    let second = robot.token("second").await?;
    robot.kubeconfig("kubeconfig", &format!("token: {second}"))?;
    robot.revoke("first", &first).await?;
    assert_eq!(api.user_name().await?, robot.user());
    listing(&mut api.watch(&target, INITIAL, LONG).await?).await?;
    config_map(robot.cluster, &robot.namespace, "told").await?;
    next_change(&mut events).await?;
    assert_eq!(api.stats().connections, before.connections, "a token needs no other connection");

    // A file that is broken for a while changes nothing.
    fs::write(robot.file("kubeconfig"), "users: [")?;
    assert_eq!(api.user_name().await?, robot.user());
    Ok(())
}

#[tokio::test]
async fn a_token_file_that_is_swapped_is_read_again() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    let first = robot.token("first").await?;
    fs::write(robot.file("..first"), &first)?;
    symlink("..first", robot.file("token"))?;
    let user = format!("tokenFile: {}", robot.file("token").display());
    let api = connect(&robot.kubeconfig("kubeconfig", &user)?).await?;
    let (_, mut events) = robot.watch(&api).await?;

    // As the kubelet does it: the link is replaced by another in one step.
    fs::write(robot.file("..second"), robot.token("second").await?)?;
    symlink("..second", robot.file("..link"))?;
    fs::rename(robot.file("..link"), robot.file("token"))?;
    robot.revoke("first", &first).await?;
    assert_eq!(api.user_name().await?, robot.user());
    config_map(robot.cluster, &robot.namespace, "told").await?;
    next_change(&mut events).await?;
    Ok(())
}

#[tokio::test]
async fn another_client_certificate_is_shown_by_the_next_connection() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let robot = Robot::new(cluster).await?;
    let grant = ["-n", &robot.namespace, "create", "rolebinding", "alice", "--role=reader", "--user=alice"];
    cluster.kubectl(&grant).await?;
    let path = robot.file("kubeconfig");
    fs::copy(cluster.kubeconfig_for("alice")?, &path)?;
    let api = connect(&path).await?;
    assert_eq!(api.user_name().await?, "alice");
    let (_, mut events) = robot.watch(&api).await?;

    fs::copy(cluster.kubeconfig_for("bob")?, &path)?;
    eventually!("bob is known", api.user_name().await.is_ok_and(|user| user == "bob"));
    config_map(cluster, &robot.namespace, "told").await?;
    next_change(&mut events).await?;
    Ok(())
}

#[tokio::test]
async fn a_plugin_is_run_once_until_its_answer_ends() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    let answer = robot.file("answer");
    fs::write(&answer, credential(&robot.token("first").await?, SignedDuration::from_mins(10)))?;
    // The plugin receives the cluster.
    let script = format!("case $KUBERNETES_EXEC_INFO in *ExecCredential*) cat '{}';; esac", answer.display());
    let path = robot.kubeconfig("kubeconfig", &robot.plugin(&script)?)?;
    let api = connect(&path).await?;
    for _ in 0..3 {
        assert_eq!(api.user_name().await?, robot.user());
    }
    assert_eq!(robot.runs(), 1);

    fs::write(&answer, credential(&robot.token("second").await?, SignedDuration::from_secs(12)))?;
    let api = connect(&path).await?;
    eventually!("it is asked again", {
        assert_eq!(api.user_name().await.expect("its token is good"), robot.user());
        robot.runs() > 2
    });
    Ok(())
}

#[tokio::test]
async fn a_plugin_is_asked_again_when_its_token_is_refused() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    let answer = robot.file("answer");
    let first = robot.token("first").await?;
    fs::write(&answer, credential(&first, SignedDuration::from_mins(10)))?;
    let script = format!("cat '{}' || {{ echo 'please log in' >&2; exit 3; }}", answer.display());
    let api = connect(&robot.kubeconfig("kubeconfig", &robot.plugin(&script)?)?).await?;
    let (_, mut events) = robot.watch(&api).await?;
    fs::write(&answer, credential(&robot.token("second").await?, SignedDuration::from_mins(10)))?;
    robot.revoke("first", &first).await?;
    assert_eq!(api.user_name().await?, robot.user());
    assert_eq!(robot.runs(), 2);
    config_map(robot.cluster, &robot.namespace, "told").await?;
    next_change(&mut events).await?;
    Ok(())
}

#[tokio::test]
async fn a_plugin_that_is_slow_is_not_ended_by_requests_that_are_in_a_hurry() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    let token = robot.token("first").await?;
    fs::write(robot.file("short"), credential(&token, SignedDuration::from_secs(12)))?;
    fs::write(robot.file("long"), credential(&token, SignedDuration::from_mins(10)))?;
    let directory = robot.directory.path().display();
    let script =
        format!("cd '{directory}'; if [ $(wc -l < runs) = 1 ]; then cat short; else sleep 4; cat long; fi");
    let path = robot.kubeconfig("kubeconfig", &robot.plugin(&script)?)?;
    let credentials = Credentials::Kubeconfig { path, context: None };
    let options =
        ApiOptions { no_proxy: true, request_timeout: Some(Duration::from_secs(1)), ..ApiOptions::default() };
    let api = Api::connect(&credentials, &options).await?;
    eventually!("its second answer is used", {
        let named = api.user_name().await;
        robot.runs() > 1 && named.is_ok_and(|user| user == robot.user())
    });
    assert_eq!(robot.runs(), 2, "it was run once, and all requests waited for it");
    Ok(())
}

#[tokio::test]
async fn a_plugin_may_issue_a_certificate() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let robot = Robot::new(cluster).await?;
    let text = fs::read_to_string(cluster.kubeconfig_for("carol")?)?;
    let pem = |field: &str| {
        let data = text.split(&format!("{field}: ")).nth(1).expect("it is there");
        let data = data.split([',', '}']).next().expect("it ends");
        String::from_utf8(BASE64_STANDARD.decode(data).expect("base64")).expect("PEM is text")
    };
    let status = json!({
        "clientCertificateData": pem("client-certificate-data"), "clientKeyData": pem("client-key-data"),
    });
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
    });
    fs::write(robot.file("answer"), credential.to_string())?;
    let plugin = robot.plugin(&format!("cat '{}'", robot.file("answer").display()))?;
    let api = connect(&robot.kubeconfig("kubeconfig", &plugin)?).await?;
    assert_eq!(api.user_name().await?, "carol");
    Ok(())
}

#[tokio::test]
async fn a_plugin_fails_with_its_own_words_and_without_secrets() -> anyhow::Result<()> {
    let robot = Robot::new(Cluster::shared().await?).await?;
    for (script, reasons) in [
        (
            format!("echo {CANARY}; echo 'please log in' >&2; exit 3"),
            &["exit status: 3", "please log in"][..],
        ),
        (format!("echo {CANARY}"), &["no usable ExecCredential"]),
        (format!("echo '{{\"status\":{{\"tokens\":\"{CANARY}\"}}}}'"), &["neither token"]),
    ] {
        let path = robot.kubeconfig("kubeconfig", &robot.plugin(&script)?)?;
        let complaint = complaint(&path).await;
        for reason in reasons.iter().chain(&["credential plugin", "/plugin"]) {
            assert!(complaint.contains(reason), "{complaint}");
        }
        assert!(!complaint.contains(CANARY), "{complaint}");
    }
    let missing = "exec: {command: no-such-plugin, installHint: ask your administrator}";
    let complaint = complaint(&robot.kubeconfig("kubeconfig", missing)?).await;
    assert!(complaint.contains("no-such-plugin cannot be run (ask your administrator)"), "{complaint}");
    Ok(())
}
