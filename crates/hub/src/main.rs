//! `spindrift-hub`: reads its configuration, runs until a signal.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use spindrift_hub::{
    app::{Hub, hub_id},
    config::HubConfig,
};
use spindrift_process::{
    config::{ConfigFiles, Env},
    daemon,
    shutdown::Shutdown,
};

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
    let env = Env::capture();
    let files = ConfigFiles::hub(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    let settings = daemon::settings(&files, &env, |settings: &HubConfig| &settings.logging)?;

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    Hub::build(settings, hub_id(&env)?).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
