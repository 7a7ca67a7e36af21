//! `spindrift version`: versions of this client and the hub.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{Context, get::yaml};

const EXAMPLES: &str = "Examples:
  # Print the versions of this client and of the current hub
  spindrift version

  # Print the version of this client only
  spindrift version --client";

/// Print the client and hub version information.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift version [options]")]
pub(crate) struct Version {
    /// If true, shows client version only (no hub required).
    #[arg(long)]
    client: bool,
    /// Output format. Defaults to text.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<VersionFormat>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionFormat {
    Json,
    Yaml,
}

const RELEASE: &str = env!("CARGO_PKG_VERSION");

// === impl Version ===

impl Version {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = if self.client { None } else { self.hub(context).await? };
        let mut out = std::io::stdout().lock();
        if let Some(format) = self.output {
            let mut shown = json!({ "client": { "version": RELEASE } });
            if let Some((version, url)) = hub {
                shown["hub"] = json!({ "version": version, "url": url });
            }
            match format {
                VersionFormat::Json => writeln!(out, "{shown:#}")?,
                VersionFormat::Yaml => write!(out, "{}", yaml(&shown)?)?,
            }
            return Ok(());
        }
        writeln!(out, "spindrift {RELEASE}")?;
        if let Some((version, url)) = hub {
            writeln!(out, "hub       {version} ({url})")?;
        }
        Ok(())
    }

    /// Version and URL of the hub. An unreachable hub is not an error: the version of the client is still printed.
    async fn hub(&self, context: &Context) -> anyhow::Result<Option<(String, String)>> {
        let hub = context.hub()?;
        match hub.version().await {
            Ok(release) => Ok(Some((release.version, hub.url().to_owned()))),
            Err(error) => {
                context.note(format_args!("hub: {error}"));
                Ok(None)
            }
        }
    }
}
