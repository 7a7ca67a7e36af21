//! `spindrift-hub`: reads its configuration, runs until a signal; or checks everything and says what is wrong.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use spindrift_hub::{
    app::{Hub, hub_id},
    check,
    config::HubConfig,
};
use spindrift_process::{
    check::{Extent, Format},
    config::{ConfigFiles, Env},
    daemon,
    shutdown::Shutdown,
};

/// The control plane of Spindrift.
#[derive(Debug, Parser)]
#[command(name = "spindrift-hub", version)]
struct Arguments {
    /// The configuration file; otherwise `spindrift-hub.yml` is looked for.
    #[arg(long, global = true, env = "SPINDRIFT_HUB_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what is right and what is wrong: configuration, database, ports, TLS. Exits with 1 if anything is wrong.
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// `text` or `json`.
    #[arg(long, short, default_value = "text")]
    output: Format,
    /// Prints problems only.
    #[arg(long, short)]
    quiet: bool,
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

async fn run(Arguments { config, command }: Arguments) -> anyhow::Result<()> {
    let env = Env::capture();
    let files = ConfigFiles::hub(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    if let Some(Command::Check(Check { output, quiet })) = command {
        let extent = if quiet { Extent::Problems } else { Extent::Everything };
        check::check(&files).await.finish(output, extent);
    }
    let id = hub_id(&env)?;
    let constants = [("hubId", id.to_string())];
    let (loaded, _) = daemon::start(&files, &env, &constants, |settings: &HubConfig| &settings.logging)?;

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    Hub::build(loaded.settings, id).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
