//! Output of `up`: addresses, and commands to try.

use std::net::SocketAddr;

use super::{
    clusters::{Clusters, Simulated},
    data_dir::{DataDir, as_typed},
};
use crate::settings::DEFAULT_HUB;

/// Data of the output.
pub(super) struct Welcome<'a> {
    pub(super) url: &'a str,
    pub(super) grpc: SocketAddr,
    pub(super) endpoints: SocketAddr,
    pub(super) data_dir: &'a DataDir,
    pub(super) clusters: &'a Clusters,
}

// === impl Welcome ===

impl Welcome<'_> {
    /// Addresses of all servers.
    pub(super) fn addresses(&self) -> String {
        let database = as_typed(&self.data_dir.database());
        let mut rows = vec![
            ("hub", self.url.to_owned(), "REST; a page for people at /".to_owned()),
            ("agents", format!("localhost:{}", self.grpc.port()), "further agents dial here".into()),
            (
                "agent",
                format!("http://localhost:{}", self.endpoints.port()),
                "/accounts, /watches, /health".into(),
            ),
            ("database", database, "kept; --fresh starts over".into()),
        ];
        if let Some(Simulated { count, url, .. }) = &self.clusters.simulated {
            rows.push(("playground", url.clone(), format!("{count} simulated clusters")));
        }
        let widest = rows.iter().map(|(_, address, _)| address.len()).max().unwrap_or_default();
        let row = |(name, address, explanation)| format!("  {name:10}  {address:widest$}   {explanation}\n");
        format!(
            "Spindrift {}\n\n{}\n",
            env!("CARGO_PKG_VERSION"),
            rows.into_iter().map(row).collect::<String>()
        )
    }

    /// Commands to try next.
    pub(super) fn next_steps(&self) -> String {
        let spindrift = program();
        let hub = if self.url == DEFAULT_HUB { String::new() } else { format!(" --hub {}", self.url) };
        let steps = [
            (format!("{spindrift}{hub} get pods -A -w"), "pods, as they come and go"),
            (format!("{spindrift}{hub} live"), "the whole fleet on one screen"),
            (format!("{spindrift}{hub} get deploy,svc -A"), "what runs in all clusters"),
            (format!("{spindrift}{hub} accounts"), "the clusters, and who watches"),
        ];
        let widest = steps.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
        let step = |(command, explanation): (String, _)| format!("  {command:widest$}   {explanation}");
        let mut lines = vec![String::new(), "Try, in a second terminal:".into(), String::new()];
        lines.extend(steps.map(step));
        if let Some(Simulated { kubeconfig, first, .. }) = &self.clusters.simulated {
            lines.push(format!("  KUBECONFIG={} kubectl --context {first} …", as_typed(kubeconfig)));
        }
        if let Some(contexts) = &self.clusters.untouched {
            let (file, names) = (contexts.file.display(), some(&contexts.names));
            let first = contexts.names.first().map_or("", String::as_str);
            lines.push(format!("\nYour own clusters are not touched unless you name them; {file} has"));
            lines.push(format!("{names}: spindrift up --context {first}"));
        }
        lines.extend([String::new(), "Ctrl-C stops it.\n".into()]);
        lines.join("\n")
    }
}

/// Program as it was called, so that the commands can be copied.
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
