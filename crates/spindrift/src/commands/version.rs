//! `spindrift version`: this release, and the hub's.

use std::io::Write;

use clap::Args;

use super::Context;

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// Does not ask the hub.
    #[arg(long)]
    client: bool,
}

// === impl Version ===

impl Version {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "spindrift {}", env!("CARGO_PKG_VERSION"))?;
        if self.client {
            return Ok(());
        }
        let hub = context.hub()?;
        match hub.version().await {
            Ok(release) => writeln!(out, "hub       {} ({})", release.version, hub.url())?,
            // Its own release is what most who ask want to know.
            Err(error) => context.note(format_args!("hub: {error}")),
        }
        Ok(())
    }
}
