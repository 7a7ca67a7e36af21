//! `spindrift-agent`: reads its configuration, runs until a signal.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Parser;
use spindrift_agent::{
    app::{Agent, agent_id},
    config::AgentConfig,
};
use spindrift_process::{
    config::{ConfigFiles, Env},
    logging,
    shutdown::Shutdown,
    tls,
};
use tracing::{info, warn};

/// Watches Kubernetes and streams changes to a Spindrift hub.
#[derive(Debug, Parser)]
#[command(name = "spindrift-agent", version)]
struct Arguments {
    /// The configuration file; otherwise `armory-agent.yml` is looked for.
    #[arg(long, env = "SPINDRIFT_AGENT_CONFIG")]
    config: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { config }: Arguments) -> anyhow::Result<()> {
    tls::install_provider();
    let env = Env::capture();
    let files = ConfigFiles::agent(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    let loaded = files.load::<AgentConfig>().context("read the configuration")?;
    logging::init(&loaded.settings.logging, &env)?;
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    info!(files = ?loaded.files, settings = %serde_json::to_string(&loaded.settings)?, "configuration");

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    Agent::build(loaded.settings, agent_id(&env)?).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
