//! A node with real pods: kubelet, containerd and runc beside the control plane.
//!
//! ```text
//! machine │ tests, hub (loopback) ◀── forward ──▶ │ namespaces of the node: API server, kubelet, kube-proxy, pods
//! ```
//!
//! All of it is in namespaces of its own, so the machine keeps its mounts, links, routes, rules and sysctls, and one
//! SIGKILL ends it. Only cgroups are the machine's: they are removed with the node, or by the next one. It needs root.

mod forward;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio::process::Command;

use self::forward::Network;
use crate::cluster::{Kubectl, testenv};
use crate::daemon::{Daemon, STARTUP};
use crate::guardian;

/// Process 1 of the namespaces.
const SCRIPT: &str = include_str!("node/node.sh");

/// Packs a program as an image.
const IMAGE_SCRIPT: &str = include_str!("node/image.sh");

/// Source of the program that holds the namespaces of a pod.
const PAUSE_SOURCE: &str = include_str!("node/pause.c");

/// Address of the node in its network, where pods reach what is exposed to them.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);

const API_SERVER_PORT: u16 = 6443;

const CGROUPS: &str = "/sys/fs/cgroup";

/// Beginning of the names of cgroups; the id of the test process follows.
const PREFIX: &str = "spindrift-node-";

/// A program of the machine as a container image.
#[derive(Debug, Clone)]
pub struct NodeImage {
    /// Name by which pods refer to it, such as `registry.invalid/agent:1`.
    pub name: String,
    /// The program, which is the entry point.
    pub program: PathBuf,
}

/// A running node; killed when dropped.
pub struct Node {
    daemon: Daemon,
    network: Network,
    kubectl: Kubectl,
    name: String,
    directory: TempDir,
}

// === impl Node ===

impl Node {
    /// Starts a node that has these images, and waits until it is ready for pods.
    pub async fn start(images: &[NodeImage]) -> anyhow::Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        remove_stale_cgroups();
        let directory = guardian::scratch("node")?;
        let path = directory.path();
        fs::create_dir(path.join("images")).context("create a directory")?;
        let pause = pause(path).await?;
        let pause = NodeImage { name: "registry.invalid/pause:1".into(), program: pause };
        for (i, image) in images.iter().chain([&pause]).enumerate() {
            pack(image, &path.join("images").join(format!("{i}.tar"))).await?;
        }
        fs::write(path.join("node.sh"), SCRIPT).context("write a script")?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut command = guardian::command("unshare")?;
        command
            .args(["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"])
            .args(["--propagation", "private", "bash"])
            .arg(path.join("node.sh"))
            .arg(&name)
            .arg(path)
            .arg(testenv().await?);
        let daemon = Daemon::serve("node", command)?;
        let started = daemon.ready(STARTUP, || async {
            ensure!(daemon.log().lines().any(|line| line == "ready"), "it is not ready for pods");
            Ok(())
        });
        if let Err(error) = started.await {
            remove_cgroups(&name);
            return Err(error);
        }
        let inner = daemon.children()?.first().copied().context("the namespaces have no process")?;
        let network = Network::of(inner).context("open the network of the node")?;
        let api_server = (Ipv4Addr::LOCALHOST, API_SERVER_PORT).into();
        let kubeconfig = path.join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_of(network.reach(api_server)?)).context("write a kubeconfig")?;
        let kubectl = Kubectl::with(&kubeconfig).await?;
        Ok(Self { daemon, network, kubectl, name, directory })
    }

    /// Runs kubectl as administrator, with an input.
    pub async fn kubectl(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        self.kubectl.run(args, input).await
    }

    /// Makes an address of the machine reachable for pods; returns the address that they dial.
    pub fn expose(&self, target: SocketAddr) -> anyhow::Result<SocketAddr> {
        self.network.expose(target, (ADDRESS, 0).into()).context("expose an address to pods")
    }

    /// Log of one of its processes, such as `kubelet`.
    pub fn log(&self, process: &str) -> String {
        fs::read_to_string(self.directory.path().join("logs").join(process)).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.daemon.kill();
        remove_cgroups(&self.name);
    }
}

fn kubeconfig_of(api_server: SocketAddr) -> String {
    // Its certificate does not name loopback addresses.
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "node",
        "clusters": [{
            "name": "node",
            "cluster": { "server": format!("https://{api_server}"), "insecure-skip-tls-verify": true },
        }],
        "users": [{ "name": "node", "user": { "token": "admin-token" } }],
        "contexts": [{ "name": "node", "context": { "cluster": "node", "user": "node" } }],
    })
    .to_string()
}

/// Compiles the program that holds the namespaces of a pod.
async fn pause(directory: &Path) -> anyhow::Result<PathBuf> {
    let (source, program) = (directory.join("pause.c"), directory.join("pause"));
    fs::write(&source, PAUSE_SOURCE).context("write a source")?;
    let mut compiler = Command::new("cc");
    run(compiler.args(["-static", "-Os", "-o"]).arg(&program).arg(&source)).await?;
    Ok(program)
}

async fn pack(NodeImage { name, program }: &NodeImage, archive: &Path) -> anyhow::Result<()> {
    let mut script = Command::new("bash");
    run(script.args(["-c", IMAGE_SCRIPT, "image.sh", name]).arg(program).arg(archive)).await
}

async fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.kill_on_drop(true).output().await.with_context(|| format!("run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Removes the cgroups of nodes whose test process was killed.
fn remove_stale_cgroups() {
    for entry in fs::read_dir(Path::new(CGROUPS).join("memory")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            remove_cgroups(&name);
        }
    }
}

/// Removes the cgroups of a node that has been killed. They are busy while the kernel still reaps its processes.
fn remove_cgroups(name: &str) {
    const ATTEMPTS: usize = 50;
    for _ in 0..ATTEMPTS {
        let controllers = fs::read_dir(CGROUPS).into_iter().flatten().flatten();
        let trees: Vec<_> =
            controllers.map(|controller| controller.path().join(name)).filter(|tree| tree.exists()).collect();
        if trees.is_empty() {
            return;
        }
        for tree in &trees {
            remove_tree(tree);
        }
        // In `Drop`, where nothing can be awaited; the kernel removes the processes meanwhile.
        #[expect(clippy::disallowed_methods, reason = "no runtime is there to block")]
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Removes directories only: the files of a cgroup go with it.
fn remove_tree(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path());
        }
    }
    fs::remove_dir(directory).ok();
}
