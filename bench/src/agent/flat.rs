//! Ten times the pods, and the same memory.

use serde_json::json;

use crate::{
    figure::{Figure, megabytes},
    playground::process::Process,
    stack::{ACCOUNT, ProcessMemory, Stack},
};

/// Syncs pods that a playground makes up; the peer is the peak with fewer of them.
pub(super) async fn measure(pods: usize, peer: f64) -> anyhow::Result<Figure> {
    let (playground, _) = Process::start(&["--clusters", "1", "--pods", &pods.to_string()]).await?;
    let account = json!({ "name": ACCOUNT, "kubeconfigFile": playground.kubeconfig().await? });
    let stack = Stack::with_accounts(&json!([account]), &["Pod"]).await?;
    let took = stack.first_sync(pods).await?;
    let memory = ProcessMemory::of(stack.agent())?;
    let (value, now) = (megabytes(memory.peak), megabytes(memory.now));
    eprintln!("{pods} pods of a playground: {took:.2?}, {value:.2} MB at most, {now:.2} MB at last");
    let (name, goal) = (format!("agent-peak-rss-{pods}"), "1.2");
    Ok(Figure { name, value, unit: "MB", peer, ratio: value / peer, goal })
}
