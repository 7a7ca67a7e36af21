//! `spindrift-hub`: reads its configuration, runs until a signal.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Parser;
use spindrift_hub::{app::Hub, config::HubConfig};
use spindrift_process::{
    config::{ConfigFiles, Env},
    logging,
    shutdown::Shutdown,
    tls,
};
use tracing::{info, warn};

/// The control plane of Spindrift.
#[derive(Debug, Parser)]
#[command(name = "spindrift-hub", version)]
struct Arguments {
    /// The configuration file; otherwise `spindrift-hub.yml` is looked for.
    #[arg(long, env = "SPINDRIFT_HUB_CONFIG")]
    config: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift-hub: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { config }: Arguments) -> anyhow::Result<()> {
    tls::install_provider();
    let env = Env::capture();
    let files = ConfigFiles::hub(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    let loaded = files.load::<HubConfig>().context("read the configuration")?;
    logging::init(&loaded.settings.logging, &env)?;
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    info!(files = ?loaded.files, settings = %serde_json::to_string(&loaded.settings)?, "configuration");

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    let hub = Hub::build(loaded.settings, spindrift_hub::app::hub_id(&env)?).await?;
    hub.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
