//! What `up` says: where everything listens, and what to try next.

use std::net::SocketAddr;

use super::{
    clusters::{Clusters, Simulated},
    data_dir::{DataDir, as_typed},
};
use crate::settings::DEFAULT_HUB;

/// All that there is to say.
pub(super) struct Welcome<'a> {
    pub(super) url: &'a str,
    pub(super) grpc: SocketAddr,
    pub(super) endpoints: SocketAddr,
    pub(super) data_dir: &'a DataDir,
    pub(super) clusters: &'a Clusters,
}

// === impl Welcome ===

impl Welcome<'_> {
    pub(super) fn print_addresses(&self) {
        println!("Spindrift {}\n", env!("CARGO_PKG_VERSION"));
        self.row("hub", self.url, "REST; see /openapi.json");
        self.row("agents", &format!("localhost:{}", self.grpc.port()), "further agents dial here");
        let endpoints = format!("http://localhost:{}", self.endpoints.port());
        self.row("agent", &endpoints, "/accounts, /watches, /health");
        self.row("database", &as_typed(&self.data_dir.database()), "kept; --fresh begins anew");
        if let Some(Simulated { count, url, .. }) = &self.clusters.simulated {
            self.row("playground", url, &format!("{count} simulated clusters"));
        }
        println!();
    }

    fn row(&self, name: &str, address: &str, explanation: &str) {
        let widest = self.url.len().max(as_typed(&self.data_dir.database()).len());
        println!("  {name:10}  {address:widest$}   {explanation}");
    }

    pub(super) fn print_next_steps(&self) {
        let spindrift = program();
        let hub = if self.url == DEFAULT_HUB { String::new() } else { format!(" --hub {}", self.url) };
        println!("\nTry, in a second terminal:\n");
        let steps = [
            (format!("{spindrift}{hub} get pods -A -w"), "pods, as they come and go"),
            (format!("{spindrift}{hub} live"), "the whole fleet on one screen"),
            (format!("{spindrift}{hub} get deploy,svc -A"), "what runs in all clusters"),
            (format!("{spindrift}{hub} accounts"), "the clusters, and who watches"),
        ];
        let widest = steps.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
        for (command, explanation) in steps {
            println!("  {command:widest$}   {explanation}");
        }
        if let Some(Simulated { kubeconfig, first, .. }) = &self.clusters.simulated {
            println!("  KUBECONFIG={} kubectl --context {first} …", as_typed(kubeconfig));
        }
        if let Some(contexts) = &self.clusters.untouched {
            let first = contexts.names.first().map_or("", String::as_str);
            println!(
                "\nYour own clusters are not touched unless you name them; {} has\n{}: spindrift up --context {first}",
                contexts.file.display(),
                some(&contexts.names),
            );
        }
        println!("\nCtrl-C stops it.");
    }
}

/// How this program was called, so that the next command can be copied.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if called.contains('/') { as_typed(called.as_ref()) } else { "spindrift".into() }
}

/// The first few names.
fn some(names: &[String]) -> String {
    const FEW: usize = 5;
    let shown = names.iter().take(FEW).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > FEW { format!("{shown} and {} more", names.len() - FEW) } else { shown }
}
