//! Agent mode: an agent that has no kubeconfig, only the service account of its pod.
//!
//! The agent runs in a mount namespace with the files and the environment that kubelet gives to a container. The token is
//! one of the TokenRequest API, for a service account with permissions of its own. It is replaced as kubelet does it, by a
//! symbolic link. Kubernetes issues no token for less than ten minutes, so the test does not wait for the end of its
//! token: the token is bound to a Secret, and the API server refuses it once that is deleted.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Daemon, Database, HubProcess, binary, eventually, free_port, scratch};
use tempfile::TempDir;

use crate::support::LONG;

/// Mounts the files of a service account, where only the program that follows sees them.
const MOUNT: &str = r#"set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
mount --bind "$1" /run/secrets/kubernetes.io/serviceaccount
shift
exec "$@""#;

/// A projected volume, as kubelet writes it.
struct ProjectedVolume {
    directory: TempDir,
}

/// A service account with some permissions in one namespace.
struct ServiceAccount<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
}

// === impl ProjectedVolume ===

impl ProjectedVolume {
    fn new() -> Self {
        Self { directory: scratch("projected").unwrap() }
    }

    /// Replaces all files at once: each is a link into `..data`, which is a link to the directory of this version.
    fn write(&self, version: &str, files: &[(&str, &str)]) {
        let path = |name: &str| self.directory.path().join(name);
        let directory = format!("..{version}");
        fs::create_dir(path(&directory)).unwrap();
        for (name, content) in files {
            fs::write(path(&directory).join(name), content).unwrap();
        }
        let before = fs::read_link(path("..data")).ok();
        symlink(&directory, path("..data_tmp")).unwrap();
        fs::rename(path("..data_tmp"), path("..data")).unwrap();
        match before {
            Some(before) => fs::remove_dir_all(path(before.to_str().unwrap())).unwrap(),
            None => files.iter().for_each(|(name, _)| {
                symlink(PathBuf::from("..data").join(name), path(name)).unwrap();
            }),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

// === impl ServiceAccount ===

impl<'a> ServiceAccount<'a> {
    /// Creates it, with the permission to read ConfigMaps of its namespace, and no other.
    async fn create(cluster: &'a Cluster, namespace: &'a str) -> Self {
        let run = async |args: &[&str]| {
            cluster.kubectl(&[args, &["--namespace", namespace]].concat()).await.unwrap();
        };
        run(&["create", "serviceaccount", "agent"]).await;
        run(&["create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps"]).await;
        let subject = format!("--serviceaccount={namespace}:agent");
        run(&["create", "rolebinding", "reader", "--role=reader", &subject]).await;
        Self { cluster, namespace }
    }

    /// Requests a token that is valid as long as a new Secret of this name exists.
    async fn token(&self, secret: &str) -> String {
        let run = async |args: &[&str]| {
            self.cluster.kubectl(&[args, &["--namespace", self.namespace]].concat()).await.unwrap()
        };
        run(&["create", "secret", "generic", secret]).await;
        let bound = format!("--bound-object-name={secret}");
        run(&["create", "token", "agent", "--duration=10m", "--bound-object-kind=Secret", &bound]).await
    }

    async fn revoke(&self, secret: &str) {
        self.cluster.kubectl(&["delete", "secret", secret, "--namespace", self.namespace]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_works_with_its_service_account_and_takes_up_a_rotated_token() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &*cluster.namespace("agent-mode").await.unwrap();
    let account = ServiceAccount::create(cluster, namespace).await;
    let volume = ProjectedVolume::new();
    let authority = authority(cluster);
    let write = |version: &str, token: &str| {
        let files = [("token", token.trim()), ("ca.crt", &*authority), ("namespace", namespace)];
        volume.write(version, &files);
    };
    write("2026_11_18_first", &account.token("first").await);

    let database = Database::sqlite().unwrap();
    let settings = [("/kubesvc/cache/cacheKinds", json!(["ConfigMap", "Service"]))];
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let port = free_port();
    let _agent = start_agent(cluster, &hub, &volume, port, namespace);
    let stored = async |name: &str| {
        let query = [("account", "pod"), ("namespace", namespace), ("name", name)];
        hub.objects(&query).await.unwrap().len() == 1
    };
    cluster.kubectl(&["create", "configmap", "before", "-n", namespace]).await.unwrap();
    eventually!("the ConfigMap is stored", LONG, stored("before").await);
    let watches = async || get(port, "/watches").await;
    eventually!("permissions are those of the service account", LONG, {
        watches().await["pod"]["denied"].to_string().contains("Service")
    });

    let operations = hub.operations("pod");
    let target = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "before" });
    let read = json!({ "verb": "get", "target": target });
    let code = async || operations.ask(&read).await.unwrap().code;
    assert_eq!(code().await, 200);

    let second = account.token("second").await;
    account.revoke("first").await;
    // The API server remembers a good token for ten seconds.
    eventually!("the first token is refused", LONG, code().await == 401);
    write("2026_11_18_second", &second);
    eventually!("the second token is used", LONG, code().await == 200);
    cluster.kubectl(&["create", "configmap", "after", "-n", namespace]).await.unwrap();
    eventually!("changes arrive", LONG, stored("after").await);
    assert_eq!(
        hub.metric("spindrift_hub_registrations_total").await.unwrap(),
        1,
        "the session is the first one"
    );
}

/// Starts an agent that sees the volume, and nothing else of the cluster.
fn start_agent(
    cluster: &Cluster,
    hub: &HubProcess,
    volume: &ProjectedVolume,
    port: u16,
    namespace: &str,
) -> Daemon {
    let file = volume.path().parent().unwrap().join(format!("agent-{port}.yml"));
    let config = json!({
        "clouddriver": { "grpc": hub.grpc() },
        "kubernetes": { "accounts": [{ "name": "pod", "serviceAccount": true, "namespaces": [namespace] }] },
        "server": { "host": "127.0.0.1", "port": port },
    });
    fs::write(&file, config.to_string()).unwrap();
    let agent = binary("spindrift-agent").unwrap();
    let arguments = [
        &["--user", "--map-root-user", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "sh"],
        &[volume.path().to_str().unwrap(), agent.to_str().unwrap(), "--config", file.to_str().unwrap()][..],
    ]
    .concat();
    let address = cluster.addr();
    let env = [
        ("HOSTNAME", "agent-a"),
        ("KUBERNETES_SERVICE_HOST", &*address.ip().to_string()),
        ("KUBERNETES_SERVICE_PORT", &*address.port().to_string()),
    ];
    Daemon::spawn("/usr/bin/unshare", &arguments, &env).unwrap()
}

/// The certificate of the cluster's authority.
fn authority(cluster: &Cluster) -> String {
    let kubeconfig: Value =
        serde_saphyr::from_str(&fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
    let data = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    String::from_utf8(BASE64_STANDARD.decode(data).unwrap()).unwrap()
}

async fn get(port: u16, path: &str) -> Value {
    reqwest::get(format!("http://127.0.0.1:{port}{path}")).await.unwrap().json().await.unwrap()
}
